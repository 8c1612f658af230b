"""A submission: a program with all that it is to run with, as one file in a folder of its own."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from millrace.cluster.documents.codec import decode
from millrace.cluster.places import job_folder
from millrace.cluster.places.durable import move, write_folder

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
