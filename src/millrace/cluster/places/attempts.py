"""How often a program has been started, so that each start happens once, whatever dies meanwhile.

The process of a program holds a lock for life, which the system takes back when it is dead. Only who has the lock may
begin an attempt, and only the one that follows the last.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass

import msgspec

from millrace.cluster.documents.codec import decode
from millrace.cluster.places.durable import append_line, write_file
from millrace.cluster.places.run_folder import Process, this_process

_LOCK, _ATTEMPTS, _OUTCOME = "lock", "attempts", "outcome.json"


@dataclass(frozen=True)
class Outcome:
    """How a program has ended."""

    exit_code: int
    ended: int
    """ms since the epoch"""
    text: str = ""
    """why, where the program did not end by itself"""


def begin(program: str, attempt: int) -> bool:
    """Whether this process is to run the program, for the ``attempt``-th time (1 for the first); it is, until it ends.

    The lock is that of a process (no fork of it has it), and lost when any file of that name is closed: nobody else in
    this process may open it.
    """
    file = os.open(os.path.join(program, _LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    if attempt != len(attempts(program)) + 1 or read_outcome(program) is not None:
        os.close(file)
        return False
    append_line(os.path.join(program, _ATTEMPTS), msgspec.json.encode(this_process()))
    return True


def attempts(program: str) -> list[Process]:
    """The processes that have begun to run a program, the last one may live."""
    try:
        with open(os.path.join(program, _ATTEMPTS), "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    return [decode(line, Process) for line in lines if _is_whole(line)]


def _is_whole(line: bytes) -> bool:
    """False for a line whose writer was killed: it had not begun yet."""
    with contextlib.suppress(ValueError):
        return isinstance(json.loads(line), dict)
    return False


def is_running(program: str) -> bool:
    """Whether a process runs it. Not to be asked by that process."""
    try:
        file = os.open(os.path.join(program, _LOCK), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def write_outcome(program: str, outcome: Outcome) -> None:
    """It has ended for good."""
    write_file(os.path.join(program, _OUTCOME), msgspec.json.encode(outcome))


def read_outcome(program: str) -> Outcome | None:
    try:
        with open(os.path.join(program, _OUTCOME), "rb") as file:
            return decode(file.read(), Outcome)
    except FileNotFoundError:
        return None
