"""Whether somebody drives a job: seen from this machine at once, from others after a while."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from millrace.checkpoint import shared_folder
from millrace.checkpoint.folder import RemoteFolder, open_folder
from millrace.checkpoint.shared_folder import Heartbeat, is_left_alone, living_driver


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers on other machines that seem to be dead are waited for only shortly."""
    monkeypatch.setattr(shared_folder, "CONFIRM_SECONDS", 0.05)


DRIVE = """
import sys
from millrace.checkpoint.shared_folder import Heartbeat
from millrace.checkpoint.folder import open_folder
Heartbeat(open_folder(sys.argv[1])).start()
print("driving", flush=True)
sys.stdin.read()
"""


def test_from_start_to_stop(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path))
    assert living_driver(folder) is None
    assert not is_left_alone(folder)
    heartbeat = Heartbeat(folder)
    heartbeat.start()
    assert living_driver(folder) is not None
    heartbeat.stop()
    assert living_driver(folder) is None
    assert list(tmp_path.iterdir()) == []


def test_a_killed_driver_is_dead_at_once(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path))
    command = [sys.executable, "-c", DRIVE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        driver = living_driver(folder)
        assert driver is not None
        assert str(driver).startswith(f"process {other.pid} on ")
        other.kill()
    assert living_driver(folder) is None
    assert is_left_alone(folder)


def test_a_number_that_was_given_again_is_another_process(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path))
    Heartbeat(folder).start()
    path = tmp_path / shared_folder.DRIVER
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "started": (known["started"] or 0) + 1}))
    assert living_driver(folder) is None or known["started"] is None


@pytest.mark.parametrize(("silent", "lives"), [(30, True), (90, False)])
def test_others_are_judged_by_what_they_say(tmp_path: Path, silent: int, lives: bool) -> None:
    folder = open_folder(str(tmp_path))
    Heartbeat(folder).start()
    path = tmp_path / shared_folder.DRIVER
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "machine": "another", "process": 1}))
    os.utime(path, (known["beat"] - silent, known["beat"] - silent))
    assert (living_driver(folder) is not None) == lives
    assert is_left_alone(folder) != lives
    assert [each.name for each in tmp_path.iterdir()] == [shared_folder.DRIVER]


HOURS = 5 * 3600


@pytest.mark.parametrize("off", [-HOURS, HOURS])
@pytest.mark.parametrize("lives", [True, False])
def test_clocks_that_are_hours_off_take_no_driver_for_dead(
    tmp_path: Path, off: int, lives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a dead one for alive: the clock of the store counts, whoever wrote what."""
    folder = open_folder(str(tmp_path))
    path = tmp_path / shared_folder.DRIVER
    now = time.time()
    driver = {"machine": "another", "host": "h", "process": 1, "started": None, "beat": now + off}
    path.write_text(json.dumps(driver))
    if not lives:
        os.utime(path, (now - 90, now - 90))
    assert (living_driver(folder) is not None) == lives
    monkeypatch.setattr(time, "time", lambda: now - off)
    assert (living_driver(folder) is not None) == lives


def test_where_the_store_says_no_time_the_clocks_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = open_folder(str(tmp_path))
    monkeypatch.setattr(folder, "age", lambda path: None)
    driver = {"machine": "another", "host": "h", "process": 1, "started": None, "beat": time.time() - 90}
    (tmp_path / shared_folder.DRIVER).write_text(json.dumps(driver))
    assert is_left_alone(folder)


def test_the_age_of_a_file_far_away(tmp_path: Path) -> None:
    """As of one here."""
    folder = RemoteFolder("x:", LocalFileSystem(), str(tmp_path))
    folder.write("a", [b"1"])
    os.utime(tmp_path / "a", (time.time() - 90, time.time() - 90))
    for each in (folder, open_folder(str(tmp_path))):
        assert 89 < (each.age("a") or 0) < 120
        assert each.age("missing") is None
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_what_is_no_such_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / shared_folder.DRIVER).write_text("{}")
    assert living_driver(open_folder(str(tmp_path))) is None
