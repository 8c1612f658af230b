"""From a path or URI to the file system that holds it."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

from pyarrow import fs

__all__ = ["Location", "absolute", "is_local", "locate", "open_file_system"]

_HADOOP_SCHEME = re.compile(r"^s3[an]://")
"""what Hadoop, and so Spark, calls S3"""
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*)://")


def absolute(path: str | os.PathLike[str]) -> str:
    """The path as every process understands it: URIs as they are, local paths made absolute."""
    text = os.fspath(path)
    if text.startswith("file:") and not text.startswith("file://"):
        text = text[len("file:") :]
    if not text:
        raise ValueError("a path must not be empty")
    return text if _SCHEME.match(text) else os.path.abspath(os.path.expanduser(text))


class Location:
    """A path inside a file system.

    ``root`` names the file system: the URI that it was opened from, "" for local files.
    """

    __slots__ = ("path", "root")

    def __init__(self, root: str, path: str) -> None:
        self.root = root
        self.path = path

    def file_system(self) -> Any:
        """The ``pyarrow.fs.FileSystem``, opened once a process."""
        return open_file_system(self.root)[0]


def locate(path: str | os.PathLike[str]) -> Location:
    """Where a path or URI leads.

    :raises ValueError: if nothing here opens the URI's scheme.
    """
    uri = absolute(path)
    match = _SCHEME.match(uri)
    if match is None:
        return Location("", uri)
    if match.group(1) == "file":
        return Location("", fs.FileSystem.from_uri(uri)[1])
    return Location(uri, open_file_system(uri)[1])


@lru_cache(maxsize=256)
def open_file_system(root: str) -> tuple[Any, str]:
    """The file system behind a URI ("" for local files) and the path inside it that the URI names."""
    if not root:
        return fs.LocalFileSystem(), ""
    try:
        opened: tuple[Any, str] = fs.FileSystem.from_uri(_HADOOP_SCHEME.sub("s3://", root))
        return opened
    except (ValueError, NotImplementedError) as unknown:
        return _open_with_fsspec(root, unknown)


def _open_with_fsspec(root: str, unknown: Exception) -> tuple[Any, str]:
    match = _SCHEME.match(root)
    scheme = match.group(1) if match else ""
    try:
        import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ValueError(
            f"no file system for {root}: pyarrow says '{unknown}', and fsspec, which opens more schemes, "
            f"is not installed (pip install fsspec and its package for {scheme}://)"
        ) from unknown
    try:
        file_system, path = fsspec.core.url_to_fs(root)
    except (ValueError, ImportError) as error:
        raise ValueError(f"no file system for {root}: pyarrow says '{unknown}', fsspec says '{error}'") from error
    return fs.PyFileSystem(fs.FSSpecHandler(file_system)), path


def is_local(file_system: Any) -> bool:
    """Whether files can be truncated and appended to with the operating system's own calls."""
    return isinstance(file_system, fs.LocalFileSystem)
