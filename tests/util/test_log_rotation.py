"""Logs begin again when they are large: nothing that was written goes missing, and not too much stays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.cluster.processes.running import environment

from millrace.configuration.files import log_limits
from millrace.util.logs import LogLimits, cut, keep_own_short, log_of, turn_over


def test_older_files_have_numbers_and_the_last_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    with open(path, "ab", buffering=0) as writer:
        for number in range(5):
            writer.write(b"%d" % number * 11)
            assert cut(str(path), LogLimits(10, 3))
    found = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert found == {"a.log": b"", "a.log.1": b"4" * 11, "a.log.2": b"3" * 11, "a.log.3": b"2" * 11}
    assert (tmp_path / "a.log.1").stat().st_mode & 0o777 == 0o600


def test_a_short_one_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"a" * 10)
    assert not cut(str(path), LogLimits(10, 3))
    assert not turn_over(str(path), [1], LogLimits(10, 3))
    assert [each.name for each in tmp_path.iterdir()] == ["a.log"]


@pytest.mark.parametrize("older", [0, 1])
def test_without_older_files_only_the_newest_lines_stay(tmp_path: Path, older: int) -> None:
    path = tmp_path / "a.log"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for text in (b"first", b"second"):
        os.write(file, text)
        assert turn_over(str(path), [file], LogLimits(1, older))
    os.write(file, b"third")
    os.close(file)
    assert path.read_bytes() == b"third"
    assert [each.read_bytes() for each in tmp_path.glob("*.1")] == [b"second"] * older


def test_a_descriptor_of_another_file_is_left_alone(tmp_path: Path) -> None:
    log, other = tmp_path / "a.log", tmp_path / "other"
    log.write_bytes(b"large")
    file = os.open(other, os.O_WRONLY | os.O_CREAT)
    assert not turn_over(str(log), [file], LogLimits(1, 1))
    os.close(file)
    assert log.read_bytes() == b"large"


def test_no_line_is_lost_while_it_turns_over(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    done, turned = threading.Event(), threading.Event()

    def write() -> None:
        for number in range(20_000):
            os.write(file, b"%d\n" % number)
            if number == 10_000:  # half of them are written after a turn
                turned.wait(60)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    limits, turns = LogLimits(4_000, 1_000), 0
    while not done.is_set():
        if turn_over(str(path), [file], limits):
            turns += 1
            turned.set()
    writer.join()
    os.close(file)
    older = sorted(tmp_path.glob("a.log.*"), key=lambda each: -int(each.suffix[1:]))
    text = b"".join(each.read_bytes() for each in [*older, path])
    assert text == b"".join(b"%d\n" % number for number in range(20_000))
    assert turns == len(older) > 0


def test_a_process_keeps_its_own_short(tmp_path: Path) -> None:
    code = (
        "import time\nfrom pathlib import Path\nfrom millrace.util.logs import LogLimits, keep_own_short\n"
        "keep_own_short(['a.out', 'a.log'], LogLimits(10, 2), 0.01)\n"
        "print('long enough', flush=True)\n"
        "while not Path('a.out.1').exists() or Path('a.out').stat().st_size: time.sleep(0.01)\n"
        "print('new', flush=True)\n"
    )
    with open(tmp_path / "a.out", "ab") as out:
        command = [sys.executable, "-c", code]
        subprocess.run(command, stdout=out, cwd=tmp_path, env=environment(), check=True, timeout=120)
    found = {each.name: each.read_text() for each in tmp_path.glob("a.*")}
    assert found == {"a.out.1": "long enough\n", "a.out": "new\n"}


def test_it_ends_when_it_is_told(tmp_path: Path) -> None:
    closed = keep_own_short([str(tmp_path / "a.log")], LogLimits(), 0.01)
    closed.set()


def test_names_of_older_files() -> None:
    names = ("a.log", "a.log.1", "a.out.12", "a.log.0", "a.log.1.gz")
    assert [log_of(name) for name in names] == ["a.log", "a.log", "a.out", "a.log.0", "a.log.1.gz"]


def test_limits() -> None:
    assert log_limits({}) == LogLimits(64 << 20, 10)
    assert log_limits({"env.log.max": "3", "millrace.log.max-file-size": "1 kb"}) == LogLimits(1024, 3)
    for wrong in ({"env.log.max": "-1"}, {"env.log.max": "many"}, {"millrace.log.max-file-size": "0"}):
        with pytest.raises(ValueError):
            log_limits(wrong)
