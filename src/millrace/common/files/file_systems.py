"""From a path or URI to the file system that holds it."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

from pyarrow import fs

from millrace.common.files.stores import hadoop, s3, settings
from millrace.common.files.stores.kinds import is_local
from millrace.common.files.stores.others import AZURE, GOOGLE, open_azure, open_google, open_with_fsspec

__all__ = ["Location", "absolute", "is_local", "locate", "open_file_system"]

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*)://")


def absolute(path: str | os.PathLike[str]) -> str:
    """The path as every process understands it: URIs as they are, local paths made absolute.

    One that begins with ``/`` leads where ``fs.default-scheme`` says.
    """
    text = _without_file(os.fspath(path))
    scheme = settings.default_scheme()
    if scheme is not None and text.startswith("/") and not os.fspath(path).startswith("file:"):
        return f"{scheme}{text}"
    return _absolute(text)


def _without_file(text: str) -> str:
    if text.startswith("file:") and not text.startswith("file://"):
        text = text[len("file:") :]
    if not text:
        raise ValueError("a path must not be empty")
    return text


def _absolute(text: str) -> str:
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
    uri = _absolute(_without_file(os.fspath(path)))
    match = _SCHEME.match(uri)
    if match is None:
        return Location("", uri)
    if match.group(1) == "file":
        if not uri.startswith("file:///"):
            raise ValueError(f"{uri} names a machine; a path of this one has three slashes: file:///{uri[7:]}")
        return Location("", fs.FileSystem.from_uri(uri)[1])
    return Location(uri, open_file_system(uri)[1])


def open_file_system(root: str) -> tuple[Any, str]:
    """The file system behind a URI ("" for local files) and the path inside it that the URI names."""
    return _opened(root, settings.current())


@lru_cache(maxsize=256)
def _opened(root: str, under: tuple[tuple[str, str], ...]) -> tuple[Any, str]:
    """Opened once a process and for the same settings; they are an argument so that others lead to another one."""
    if not root:
        return fs.LocalFileSystem(), ""
    scheme, known = root.partition("://")[0].lower(), settings.known()
    if scheme in s3.SCHEMES:
        return s3.open_s3(root, known)
    if scheme in hadoop.SCHEMES:
        return hadoop.open_hdfs(root, known)
    if scheme in GOOGLE:
        return open_google(root, known)
    if scheme in AZURE:
        return open_azure(root, known)
    try:
        opened: tuple[Any, str] = fs.FileSystem.from_uri(root)
        return opened
    except (ValueError, NotImplementedError) as unknown:
        return open_with_fsspec(root, known, str(unknown))
