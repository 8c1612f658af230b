"""Each start of a program happens once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from millrace.cluster import submissions
from millrace.cluster.submissions import Outcome


def begun_in_child(program: str, attempt: int, hold: bool = False) -> tuple[bool, int]:
    """Whether a forked process may begin; its pid, if it is to stay."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, b"1" if submissions.begin(program, attempt) else b"0")
        if hold:
            signal.pause()
        os._exit(0)
    os.close(write)
    answer = os.read(read, 1) == b"1"
    os.close(read)
    if not hold:
        os.waitpid(pid, 0)
    return answer, pid


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    program = str(tmp_path)
    assert not submissions.is_running(program)
    first, pid = begun_in_child(program, 1, hold=True)
    assert first and submissions.is_running(program)
    assert begun_in_child(program, 1)[0] is False
    assert begun_in_child(program, 2)[0] is False
    end(pid)
    assert not submissions.is_running(program)
    assert [each.pid for each in submissions.attempts(program)] == [pid]


def test_the_same_attempt_happens_once(tmp_path: Path) -> None:
    assert begun_in_child(str(tmp_path), 1)[0]
    assert not begun_in_child(str(tmp_path), 1)[0]
    assert not begun_in_child(str(tmp_path), 3)[0]
    assert begun_in_child(str(tmp_path), 2)[0]


def test_nothing_begins_after_the_end(tmp_path: Path) -> None:
    submissions.write_outcome(str(tmp_path), Outcome(3, 5, "why"))
    assert not begun_in_child(str(tmp_path), 1)[0]
    assert submissions.read_outcome(str(tmp_path)) == Outcome(3, 5, "why")


def test_a_line_that_was_cut_off_is_no_attempt(tmp_path: Path) -> None:
    begun_in_child(str(tmp_path), 1)
    with open(tmp_path / "attempts", "ab") as file:
        file.write(b'{"pid": 7, "sta')
    assert len(submissions.attempts(str(tmp_path))) == 1
    assert begun_in_child(str(tmp_path), 2)[0]
    assert len(submissions.attempts(str(tmp_path))) == 2
