"""Log files: cut while they are written, gone when nobody reads them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from millrace.spark.sessions import log_files
from millrace.spark.sessions.log_files import remove_old, shorten

START = "from millrace.spark.sessions.log_files import new_log_file; path = new_log_file(); print(path); "


def started(code: str, tmp_path: Path) -> Path:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", START + code]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def test_a_long_log_is_cut_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "millrace-1-x.log"
    with open(path, "ab", buffering=0) as writer:
        writer.write(b"a" * 100)
        shorten(str(path), 100)
        assert path.stat().st_size == 100, "not too long yet"
        writer.write(b"b")
        shorten(str(path), 100)
        writer.write(b"c")
    assert path.read_bytes() == b"c"
    beside = tmp_path / "millrace-1-x.log.1"
    assert beside.read_bytes() == b"a" * 100 + b"b"
    assert beside.stat().st_mode & 0o777 == 0o600


def test_what_nobody_wrote_goes_with_the_process(tmp_path: Path) -> None:
    empty = started("open(path.removesuffix('.log') + '.log4j2.properties', 'w').close()", tmp_path)
    assert list(tmp_path.iterdir()) == []
    full = started("open(path, 'a').write('an error')", tmp_path)
    assert empty != full
    assert full.read_text() == "an error"


def test_old_logs_of_dead_processes_go(tmp_path: Path) -> None:
    old = time.time() - log_files.KEPT_SECONDS - 60
    dead = 2**22 + 1
    names = {
        f"millrace-{dead}-a.log": old, f"millrace-{dead}-a.log.1": old, f"millrace-{dead}-a.log4j2.properties": old,
        "millrace-0abc_x1.log": old, f"millrace-{dead}-young.log": time.time(), f"millrace-{os.getpid()}-mine.log": old,
        "millrace-notes.logbook": old, "other.log": old,
    }  # fmt: skip
    for name, modified in names.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (modified, modified))
    remove_old(str(tmp_path))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {
        f"millrace-{dead}-young.log", f"millrace-{os.getpid()}-mine.log", "millrace-notes.logbook", "other.log"
    }  # fmt: skip
