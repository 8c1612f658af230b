"""What is known of a process of Spark that was started: its number and when that was given to it, so that no other is
ended in its place."""

from __future__ import annotations

import os
from dataclasses import dataclass

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.places.durable import write_file
from millrace.cluster.places.run_folder import Process

SUFFIX = ".process.json"


@dataclass(frozen=True)
class Record:
    """A master or a worker."""

    process: Process
    began: int
    """ms since the epoch"""
    starts: int = 1
    """how often it was started for this cluster"""
    host: str | None = None
    """ssh's name of its machine; None: this one"""


def write_record(folder: str, name: str, record: Record) -> None:
    write_file(_path(folder, name), encode(record))


def read_record(folder: str, name: str) -> Record | None:
    """The last process of that name, which may be dead."""
    try:
        with open(_path(folder, name), "rb") as file:
            return decode(file.read(), Record)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def remove_record(folder: str, name: str) -> None:
    try:
        os.unlink(_path(folder, name))
    except FileNotFoundError:
        return


def recorded(folder: str) -> list[str]:
    """The names of all that have a record."""
    try:
        found = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX))


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, f"{name}{SUFFIX}")
