"""What is different about file systems: whether files show only when they are whole, whether they need folders."""

from __future__ import annotations

from typing import Any

from pyarrow import fs

__all__ = ["is_local", "makes_folders", "shows_whole_files"]

_OBJECT_STORES = ("S3FileSystem", "GcsFileSystem", "AzureFileSystem")
_OF_FSSPEC = frozenset({"s3", "s3a", "gs", "gcs", "oss", "abfs", "az", "adl", "obs", "cos", "cosn"})


def is_local(file_system: Any) -> bool:
    """Whether files can be truncated and appended to with the operating system's own calls."""
    return isinstance(file_system, fs.LocalFileSystem)


def shows_whole_files(file_system: Any) -> bool:
    """Whether a file is there when it has been closed, and not before: an object store. It renames by copying."""
    if type(file_system).__name__ in _OBJECT_STORES:
        return True
    protocol = getattr(getattr(getattr(file_system, "handler", None), "fs", None), "protocol", ())
    return bool(_OF_FSSPEC & {protocol} if isinstance(protocol, str) else _OF_FSSPEC.intersection(protocol))


def makes_folders(file_system: Any) -> bool:
    """Whether there are no folders, or those that a file needs come with it."""
    return shows_whole_files(file_system) or getattr(file_system, "type_name", "") == "py::webhdfs"
