"""Lanes: one collection, each test once, in the lanes that take its group; a lane that ends fails one test only."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.lanes import group_of, lanes_of

ROOT = Path(__file__).parents[2]
FILE = """
import atexit, os, pathlib, tempfile
import pytest

HERE = pathlib.Path(__file__).parent
with open(HERE / "collected", "a") as file:
    file.write(f"{__name__}\\n")

def note_end(when):
    (HERE / f"ended-{when}-{os.getpid()}").touch()

atexit.register(note_end, "collected")

@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (HERE / f"started-{os.getpid()}").touch()
    yield folder
    (HERE / f"stopped-{os.getpid()}").touch()

def note(request):
    with open(HERE / "ran", "a") as file:
        file.write(f"{os.getpid()} {request.node.nodeid.rpartition('/')[2]}\\n")

@pytest.mark.services
def test_services(request, server, tmp_path):
    note(request)
    atexit.register(note_end, "ran")
    request.config.left = tempfile.TemporaryDirectory(dir=HERE, prefix="left-")

@pytest.mark.parametrize("number", range(5))
def test_unit(request, number, tmp_path):
    note(request)
    print("printed by", number)
    assert number != 3 or "WRONG" not in os.environ
    if number == 2 and "CRASH" in os.environ:
        os._exit(7)
"""


def run(folder: Path, *options: str, **environment: str) -> tuple[int, str]:
    for name in ("a", "b", "c"):
        (folder / f"test_{name}.py").write_text(FILE)
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}"]
    command += ["-p", "tests.conftest", *options, str(folder)]
    own = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), **environment}
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def ran(folder: Path) -> dict[str, str]:
    """Test -> process; each has run once."""
    lines = [line.split(" ", 1)[::-1] for line in (folder / "ran").read_text().splitlines()]
    assert len(dict(lines)) == len(lines)
    return dict(lines)


def test_each_test_runs_once_in_a_lane_of_its_group(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    code, output = run(tmp_path, "--lanes=services unit, unit", f"--lanes-report={report}")
    assert code == 0, output
    assert "18 passed" in output
    assert re.search(r"^services: 3 tests, .*\nunit: 15 tests, ", output, re.MULTILINE)
    found = ran(tmp_path)
    assert len(found) == 18
    assert len({process for test, process in found.items() if "services" in test}) == 1
    assert len(set(found.values())) == 2
    of_files = {(test.partition("::")[0], process) for test, process in found.items() if "unit" in test}
    assert len(of_files) == 3
    of_services = next(process for test, process in found.items() if "services" in test)
    assert [path.name for path in tmp_path.glob("ended-ran-*")] == [f"ended-ran-{of_services}"]
    (of_main,) = tmp_path.glob("ended-collected-*")
    assert of_main.name.rpartition("-")[2] not in found.values(), "lanes do not run what was registered before them"
    assert list(tmp_path.glob("left-*")) == []
    assert Counter((tmp_path / "collected").read_text().split()).most_common(1)[0][1] == 1
    assert len(list(tmp_path.glob("started-*"))) == len(list(tmp_path.glob("stopped-*"))) == 1
    assert {group: len(files) for group, files in json.loads(report.read_text()).items()} == {
        "services": 3,
        "spark": 0,
        "unit": 3,
    }


ORPHAN = """
import subprocess, sys

BURN = "import time\\nwhile time.process_time() < 1: pass\\ntime.sleep(5)"  # it ends after a look at it
STARTS = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {BURN!r}], stdout=2).pid)"

def test_orphan():
    pid = int(subprocess.run([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, check=True).stdout)
    import psutil
    psutil.wait_procs([psutil.Process(pid)], timeout=100)
"""


def test_time_of_processes_that_outlive_their_parents_counts(tmp_path: Path) -> None:
    (tmp_path / "test_orphan.py").write_text(ORPHAN)
    report = tmp_path / "report.json"
    code, output = run(tmp_path, "--lanes=unit", f"--lanes-report={report}")
    assert code == 0, output
    found = {Path(file).name: seconds for file, seconds in json.loads(report.read_text())["unit"].items()}
    assert found["test_orphan.py"] >= 0.9  # clocks of processes have steps


def test_a_failure_says_where_and_what_was_printed(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--lanes=unit services", WRONG="yes")
    assert code == 1
    assert "3 failed, 15 passed" in output
    assert output.count("printed by 3") == 3
    assert "printed by 1" not in output


def test_a_lane_that_ends_fails_the_test_that_ran_and_the_rest_goes_on(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--lanes=services unit, unit", CRASH="yes")
    assert code == 1
    assert "3 failed, 15 passed" in output
    assert output.count("ended with 7 in this test") >= 3
    assert len(ran(tmp_path)) == 18


def test_after_the_first_failure_nothing_begins_with_x(tmp_path: Path) -> None:
    code, output = run(tmp_path, "--lanes=services unit", "-x", WRONG="yes")
    assert code == 1
    assert "1 failed" in output
    assert len(ran(tmp_path)) < 18
    assert len(list(tmp_path.glob("started-*"))) == len(list(tmp_path.glob("stopped-*")))


@pytest.mark.parametrize("text", ["", "spark, java", "unit spark units"])
def test_unknown_groups_are_refused(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="is not among services, spark, unit"):
        lanes_of(text)


class Marked:
    """A test with some markers."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.names else None


def test_what_needs_spark_and_servers_runs_where_spark_is() -> None:
    groups = [group_of(Marked(*names)) for names in ((), ("services",), ("services", "spark"))]  # type: ignore[arg-type]
    assert groups == ["unit", "services", "spark"]


def test_a_lane_takes_groups_in_the_order_given() -> None:
    assert lanes_of("unit spark, services") == [("unit", "spark"), ("services",)]


def test_a_star_is_a_lane_for_each_processor_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert lanes_of("unit*") == [("unit",)] * 3
    assert lanes_of("services unit, unit*") == [("services", "unit"), ("unit",), ("unit",)]
    assert lanes_of("spark,spark,services,unit*") == [("spark",), ("spark",), ("services",)]
