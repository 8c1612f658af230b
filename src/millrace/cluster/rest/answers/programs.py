"""Uploaded programs: Flink's jars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from millrace.cluster.documents.cluster import ProgramDocument


class JarEntryInfo(TypedDict):
    """What in the program can be run."""

    name: str
    description: str | None


class JarFileInfo(TypedDict):
    """A program."""

    id: str
    name: str
    uploaded: int
    entry: list[JarEntryInfo]


class JarListInfo(TypedDict):
    """The programs."""

    address: str
    files: list[JarFileInfo]


class JarUploadResponseBody(TypedDict):
    """Where the program lies; the last part of it is the id."""

    filename: str
    status: str


class JarRunResponseBody(TypedDict):
    """The job that was begun."""

    applicationId: str
    jobid: str


class JarRunApplicationResponseBody(TypedDict):
    """The application that was begun."""

    applicationid: str


def program_list(programs: Sequence[ProgramDocument], address: str) -> JarListInfo:
    """The programs, the newest first."""
    newest = sorted(programs, key=lambda each: each.uploaded, reverse=True)
    return {"address": address, "files": [_file(each) for each in newest]}


def _file(program: ProgramDocument) -> JarFileInfo:
    entry: list[JarEntryInfo] = [] if program.entry is None else [{"name": program.entry, "description": None}]
    return {"id": program.id, "name": program.name, "uploaded": program.uploaded, "entry": entry}
