"""Submitted programs: one file with all that a program runs with, and a record of each attempt to run it.

The process of a program holds a lock for life, which the system takes back when it is dead. Only the process with the
lock may begin an attempt, and only the one that follows the last, so each start happens once, whatever dies meanwhile.
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
    """What runs where, and with what."""

    id: str
    """of the program's first job, chosen by whoever submits it"""
    directory: str
    """where it runs"""
    name: str = "program"
    """what people know it by"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """of the command line, by the names of ``ProgramOptions``"""
    savepoint: tuple[tuple[str, str], ...] = ()
    """configuration of a restore"""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    paths: tuple[str, ...] = ()
    """import path of the command beyond the program's folder"""
    python: str = ""
    """the interpreter's installation: a program finds the packages there that it was written with"""
    isolated: bool = False
    """whether it gets an engine of its own"""
    attached: bool = False
    """whether somebody waits for it, with streams of their own"""
    plain: bool = False
    """whether it says only what it would say without a cluster"""
    quiet: bool = False
    verbose: bool = False
    submitted: int = 0
    """ms since the epoch"""


def new_id() -> str:
    """An id that no job has."""
    return uuid.uuid4().hex


def check_id(id: str) -> str:
    """The id in its one form.

    :raises ValueError: it is none.
    """
    if not _ID.fullmatch(id.lower()):
        raise ValueError(f"{id!r} is no job id: that is 32 hexadecimal digits")
    return id.lower()


def submit(folder: str, program: SubmittedProgram, files: Mapping[str, bytes] | None = None) -> bool:
    """Hand a program to a cluster: from here on it runs once, whatever dies. False: one with this id is there already.

    Before this returns, it may or may not be there; asking with the same id again makes sure of it.
    """
    if job_folder.place_of(folder, check_id(program.id)) is not None:
        return False
    path = os.path.join(folder, job_folder.SUBMISSIONS, program.id)
    return write_folder(path, {FILE: msgspec.json.encode(program), **(files or {})})


def take_up(folder: str, id: str) -> str | None:
    """Move a submission to the programs that run; its folder, or None if another has done so, or it ran before."""
    path = os.path.join(folder, job_folder.JOBS, id)
    if os.path.isdir(os.path.join(folder, job_folder.DONE, id)):
        return None  # it was submitted again while its end was recorded
    return path if move(os.path.join(folder, job_folder.SUBMISSIONS, id), path) else None


def read_submission(program: str) -> SubmittedProgram:
    """What is in the folder of a program."""
    with open(os.path.join(program, FILE), "rb") as file:
        return decode(file.read(), SubmittedProgram)


# Attempts and outcomes

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
