"""Atomic writing of files and folders: after a crash of process or machine each is there as a whole or not at all.

All files that the processes of a cluster leave for each other are written here, documents as JSON. ``msgspec``, of the
extra ``cluster``, is imported by ``encode`` and ``decode`` only: ``doctor`` looks at folders without it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Mapping
from typing import BinaryIO, TypeVar

from millrace.util.system import is_alive, this_machine, write_all, writing

UNFINISHED = ".unfinished-"


def write_file(path: str, content: bytes) -> None:
    """Write a file that only this user can read; replaces an existing one atomically."""
    unfinished = unfinished_in(os.path.dirname(path))
    try:
        _write(unfinished, content)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
    _sync_folder(os.path.dirname(path))


def copy_file(content: BinaryIO, path: str) -> None:
    """Copy a file, piece by piece, to a path that only this user can read."""
    unfinished = unfinished_in(os.path.dirname(path))
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with writing(path), open(os.open(unfinished, flags, 0o600), "wb") as file:
            shutil.copyfileobj(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
    _sync_folder(os.path.dirname(path))


def write_folder(path: str, files: Mapping[str, bytes]) -> bool:
    """Write a folder with files; returns False, and changes nothing, if a folder of that name exists."""
    parent = os.path.dirname(path)
    unfinished = unfinished_in(parent)
    os.mkdir(unfinished, 0o700)
    try:
        for name, content in files.items():
            _write(f"{unfinished}/{name}", content)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    _sync_folder(unfinished)
    try:
        os.rename(unfinished, path)  # refused by the system if the target is a folder with something in it
    except OSError:
        if not os.path.isdir(path):
            raise
        for name in files:
            os.unlink(f"{unfinished}/{name}")
        os.rmdir(unfinished)
        return False
    _sync_folder(parent)
    return True


def move(source: str, target: str) -> bool:
    """Move a folder; returns False if it is gone or the target exists."""
    try:
        os.rename(source, target)
    except OSError:
        if os.path.isdir(source) and not os.path.isdir(target):
            raise
        return False
    _sync_folder(os.path.dirname(source))
    _sync_folder(os.path.dirname(target))
    return True


def append_line(path: str, line: bytes) -> None:
    """Add a line to a file and sync it to disk. An empty line goes first, in case the last line was cut off by a
    crash."""
    with writing(path):
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            write_all(file, b"\n" + line + b"\n")
            os.fsync(file)
        finally:
            os.close(file)


def unfinished_in(folder: str) -> str:
    """A path for a file that is still being written; its name holds the pid of the writer."""
    return f"{folder}/{UNFINISHED}{this_machine()}-{os.getpid()}-{uuid.uuid4().hex}"


def sweep(folder: str) -> None:
    """Remove unfinished files of processes of this machine that are dead."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if is_unfinished(name) and _is_abandoned(name):
                path = os.path.join(folder, name)
                shutil.rmtree(path, ignore_errors=True)
                with contextlib.suppress(OSError):  # it was a folder
                    os.unlink(path)


def _is_abandoned(name: str) -> bool:
    machine, process, *_ = [*name.removeprefix(UNFINISHED).split("-"), "", ""]
    return machine == this_machine() and process.isdecimal() and not is_alive(int(process))


def is_unfinished(name: str) -> bool:
    """Whether a name is that of an unfinished file."""
    return name.startswith(UNFINISHED)


def _write(path: str, content: bytes) -> None:
    with writing(path):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(file, content)
            os.fsync(file)
        finally:
            os.close(file)


def _sync_folder(path: str) -> None:
    """Sync a folder to disk. Without this, a loss of power may undo a rename."""
    with contextlib.suppress(OSError):  # some file systems cannot
        folder = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# Documents as JSON text and back

D = TypeVar("D")


def encode(document: object) -> bytes:
    """A document, or a list of documents, as JSON."""
    import msgspec

    return msgspec.json.encode(document)


def decode(text: bytes, kind: type[D]) -> D:
    """Decode a document from JSON; missing fields get their defaults, unknown fields are ignored.

    :raises ValueError: it is no JSON, or not of that kind.
    """
    import msgspec

    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not a {kind.__name__}: {error}") from None
