"""Archives of jobs that have ended: one file each, a ``JobDocument`` as JSON, on any file system."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from pyarrow import fs

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.masked import masked
from millrace.common.files.file_systems import is_local, locate
from millrace.common.files.stores.kinds import makes_folders

SUFFIX = ".json"
LARGEST = 256 * 1024 * 1024
"""bytes of an archive; larger ones are none of ours"""

_ID = re.compile(r"[0-9a-f]{32}\Z")


@dataclass(frozen=True)
class Archive:
    """A file that has the name of an archive."""

    id: str
    path: str
    size: int
    modified: int | None
    """ns"""


def write_archive(directory: str, job: JobDocument) -> str:
    """Archive a job: others see all of it or nothing. An archive of the same job is replaced.

    :returns: its path.
    """
    if not _ID.match(job.id):
        raise ValueError(f"{job.id!r} is no id of a job.")
    place = locate(directory)
    files, path = place.file_system(), f"{place.path.rstrip('/')}/{job.id}{SUFFIX}"
    hidden = f"{place.path.rstrip('/')}/.{job.id}.{uuid.uuid4().hex}"
    if is_local(files):
        _write_locally(hidden, encode(masked(job)))
        os.replace(hidden, path)
    else:
        if not makes_folders(files):
            files.create_dir(place.path, recursive=True)
        with files.open_output_stream(hidden) as stream:
            stream.write(encode(masked(job)))
        files.move(hidden, path)
    return path


def _write_locally(path: str, text: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def list_archives(directory: str) -> Iterator[Archive]:
    """All files of a directory that have the name of an archive; none without the directory."""
    place = locate(directory)
    files = place.file_system()
    selector = fs.FileSelector(place.path, allow_not_found=True)
    for info in files.get_file_info(selector):
        id = info.base_name.removesuffix(SUFFIX)
        if info.type != fs.FileType.File or not info.base_name.endswith(SUFFIX) or not _ID.match(id):
            continue
        if is_local(files) and os.path.islink(info.path):
            continue
        yield Archive(id, info.path, info.size, info.mtime_ns)


def delete_archive(directory: str, archive: Archive) -> None:
    """Delete it for good.

    :raises OSError: that is not possible.
    """
    locate(directory).file_system().delete_file(archive.path)


def read_archive(directory: str, archive: Archive) -> JobDocument:
    """The job of an archive.

    :raises ValueError: it is no archive of that job.
    :raises OSError: it can't be read.
    """
    if archive.size > LARGEST:
        raise ValueError(f"it has {archive.size} bytes, more than {LARGEST}")
    with locate(directory).file_system().open_input_stream(archive.path) as stream:
        job = decode(stream.read(), JobDocument)
    if job.id != archive.id:
        raise ValueError(f"it is of job {job.id[:40]}")
    return job
