"""Submitted programs: one file that describes how a program runs, and a record of each attempt to run it.

The process of a program holds a lock until it ends, which the system releases when the process is dead. Only the
process with the lock may begin an attempt, and only the attempt that follows the last one, so each start happens once,
whatever dies meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from millrace.cluster import job_folder
from millrace.cluster.durable_files import append_line, decode, move, write_file, write_folder
from millrace.cluster.run_folder import Process, this_process

FILE = "submission.json"
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class SubmittedProgram:
    """A submitted program with its directory, options and environment."""

    id: str
    """id of the program's first job, chosen by the client"""
    directory: str
    """working directory of the program"""
    name: str = "program"
    """name of the program for the user"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """options of the command line, by the names of ``ProgramOptions``"""
    savepoint: tuple[tuple[str, str], ...] = ()
    """options that describe the savepoint to restore from"""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    paths: tuple[str, ...] = ()
    """import path of the submitting command, beyond the program's folder"""
    python: str = ""
    """path of the Python installation that the program needs for its packages"""
    isolated: bool = False
    """whether the program gets an engine of its own"""
    attached: bool = False
    """whether a command waits for the program and lends it its streams"""
    plain: bool = False
    """whether the program's output contains only what it would print without a cluster"""
    quiet: bool = False
    verbose: bool = False
    submitted: int = 0
    """time of the submission (ms since the epoch)"""


def new_id() -> str:
    """A new unique job id."""
    return uuid.uuid4().hex


def check_id(id: str) -> str:
    """The id in its canonical form.

    :raises ValueError: it is none.
    """
    if not _ID.fullmatch(id.lower()):
        raise ValueError(f"{id!r} is no job id: that is 32 hexadecimal digits")
    return id.lower()


def submit(folder: str, program: SubmittedProgram, files: Mapping[str, bytes] | None = None) -> bool:
    """Submit a program to a cluster: from then on it runs exactly once, whatever dies. False: its id is submitted
    already.

    If the caller dies before this returns, the program may or may not be submitted; submitting the same id again makes
    sure
    that it is.
    """
    if job_folder.place_of(folder, check_id(program.id)) is not None:
        return False
    path = os.path.join(folder, job_folder.SUBMISSIONS, program.id)
    return write_folder(path, {FILE: msgspec.json.encode(program), **(files or {})})


def take_up(folder: str, id: str) -> str | None:
    """Move a submission to the running programs; returns its folder, or None if another process was first, or it has
    run before."""
    path = os.path.join(folder, job_folder.JOBS, id)
    if os.path.isdir(os.path.join(folder, job_folder.DONE, id)):
        return None  # it was submitted again while its end was recorded
    return path if move(os.path.join(folder, job_folder.SUBMISSIONS, id), path) else None


def read_submission(program: str) -> SubmittedProgram:
    """Read the submission in a program's folder."""
    with open(os.path.join(program, FILE), "rb") as file:
        return decode(file.read(), SubmittedProgram)


# Attempts and outcomes

_LOCK, _ATTEMPTS, _OUTCOME = "lock", "attempts", "outcome.json"


@dataclass(frozen=True)
class Outcome:
    """The end of a program: its exit code, time and reason."""

    exit_code: int
    ended: int
    """ms since the epoch"""
    text: str = ""
    """the reason, where the program did not end by itself"""


def begin(program: str, attempt: int) -> bool:
    """Try to become the process that makes the ``attempt``-th attempt (1 for the first) to run the program, until it
    ends.

    The lock belongs to the process (forks do not have it), and is lost when any file of its name is closed: no other
    code
    of this process may open that file.
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
    """The processes that have begun attempts to run a program; only the last one may be alive."""
    try:
        with open(os.path.join(program, _ATTEMPTS), "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    return [decode(line, Process) for line in lines if _is_whole(line)]


def _is_whole(line: bytes) -> bool:
    """Whether a line of the record is complete. If its writer was killed, the attempt had not begun."""
    with contextlib.suppress(ValueError):
        return isinstance(json.loads(line), dict)
    return False


def is_running(program: str) -> bool:
    """Whether a process runs the program. Must not be called by that process itself."""
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
    """Record the end of a program."""
    write_file(os.path.join(program, _OUTCOME), msgspec.json.encode(outcome))


def read_outcome(program: str) -> Outcome | None:
    try:
        with open(os.path.join(program, _OUTCOME), "rb") as file:
            return decode(file.read(), Outcome)
    except FileNotFoundError:
        return None
