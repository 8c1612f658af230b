"""Log files: cut while they are written, gone when nobody reads them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millrace.spark.sessions import logs
from millrace.spark.sessions.logs import log_file_path, remove_old

START = (
    "from millrace.spark.sessions.logs import log_file_path, look_after; "
    "path = log_file_path({}); look_after(path, {}); print(path); "
)


def started(code: str, tmp_path: Path) -> Path:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", START + code]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def test_they_lie_where_the_configuration_says(tmp_path: Path) -> None:
    there = tmp_path / "var" / "log"
    path = Path(log_file_path({"env.log.dir": str(there)}))
    assert path.parent == there
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ValueError, match=r"env\.log\.max"):
        log_file_path({"env.log.max": "-1"})


def test_what_is_not_needed_goes_with_the_process(tmp_path: Path) -> None:
    beside = "stem = path.removesuffix('.log'); [open(stem + e, 'w') for e in ('.log4j2.properties', '-package.zip')]; "
    started(beside, tmp_path)
    assert list(tmp_path.iterdir()) == []
    started(beside + "open(path, 'a').write('chatter'); open(path + '.1', 'w').write('more')", tmp_path)
    assert list(tmp_path.iterdir()) == []


KEPT = "from millrace.spark.sessions.logs import keep; keep(path)"


@pytest.mark.parametrize("ends", [KEPT, "sys.last_type = 1"])
def test_what_an_error_names_stays(tmp_path: Path, ends: str) -> None:
    log = started(f"import sys; open(path, 'a').write('an error'); {ends}", tmp_path)
    assert log.read_text() == "an error"
    assert list(tmp_path.iterdir()) == [log]


def test_logs_of_a_folder_of_the_users_stay(tmp_path: Path) -> None:
    log = log_file_path({"env.log.dir": str(tmp_path)})
    logs._remove_needless(log, os.getpid(), passing=False)
    assert list(tmp_path.iterdir()) == []
    Path(log).write_text("something")
    logs._remove_needless(log, os.getpid(), passing=False)
    assert list(tmp_path.iterdir()) == [Path(log)]


def test_old_logs_of_dead_processes_go(tmp_path: Path) -> None:
    old = time.time() - logs.RETENTION_SECONDS - 60
    dead = 2**22 + 1
    names = {
        f"millrace-{dead}-a.log": old, f"millrace-{dead}-a.log.1": old,
        f"millrace-{dead}-a.log.10": old, f"millrace-{dead}-a.log4j2.properties": old,
        "millrace-0abc_x1.log": old, f"millrace-{dead}-young.log": time.time(), f"millrace-{os.getpid()}-mine.log": old,
        "millrace-notes.logbook": old, "other.log": old,
    }  # fmt: skip
    for name, modified in names.items():
        (tmp_path / name).write_text("something")
        os.utime(tmp_path / name, (modified, modified))
    for name in (f"millrace-{dead}-empty.log", f"millrace-{os.getpid()}-fresh.log"):
        (tmp_path / name).touch()
    for name in (f"millrace-{dead}-b.log4j2.properties", f"millrace-{dead}-b-package.zip"):
        (tmp_path / name).write_text("for the JVM")
    remove_old(str(tmp_path))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        f"millrace-{dead}-young.log", f"millrace-{os.getpid()}-mine.log", "millrace-notes.logbook", "other.log",
        f"millrace-{os.getpid()}-fresh.log",
    }  # fmt: skip
