"""Finding the files below a path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from millrace.common.files.file_systems import Location, locate
from millrace.common.files.stores.problems import explaining

__all__ = ["FoundFile", "list_files"]

_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class FoundFile:
    """A file that a source may read."""

    root: str
    path: str
    size: int
    modified_ns: int

    @property
    def key(self) -> str:
        """What tells it from every other file: its file system and its path."""
        return f"{self.root.partition('://')[0]}:{self.path}" if self.root else self.path


def list_files(path: str) -> list[FoundFile]:
    """The files that a path names: itself, all below it when it is a directory, or those that a glob matches.

    Below a directory names that start with ``.`` or ``_`` are left out, directories with all they hold. In a glob ``*``
    and ``?`` stay inside one name, ``**`` crosses directories, and a directory that matches counts with its files.

    :raises FileNotFoundError: if the path does not exist. A glob that matches nothing is an empty list.
    """
    with explaining(path):
        return _listed(path)


def _listed(path: str) -> list[FoundFile]:
    location = locate(path)
    file_system = location.file_system()
    info = file_system.get_file_info(location.path)
    if info.type == fs.FileType.File:
        return [_found(location, info)]
    if info.type == fs.FileType.Directory:
        return list(_below(location, file_system, location.path))
    if _MAGIC.search(location.path):
        return _glob(path, location, file_system)
    raise FileNotFoundError(f"there is no file or folder {path}")


def _found(location: Location, info: Any) -> FoundFile:
    return FoundFile(location.root, info.path, info.size or 0, info.mtime_ns or 0)


def _below(location: Location, file_system: Any, directory: str) -> Iterator[FoundFile]:
    selector = fs.FileSelector(directory, allow_not_found=True, recursive=False)
    for info in file_system.get_file_info(selector):
        if info.base_name.startswith((".", "_")):
            continue
        if info.type == fs.FileType.Directory:
            yield from _below(location, file_system, info.path)
        elif info.type == fs.FileType.File:
            yield _found(location, info)


def _glob(path: str, location: Location, file_system: Any) -> list[FoundFile]:
    fixed = location.path[: _MAGIC.search(location.path).start()].rpartition("/")[0]  # type: ignore[union-attr]
    base = file_system.get_file_info(fixed or "/")
    if base.type != fs.FileType.Directory:
        raise FileNotFoundError(f"there is no file or folder {path} (no folder {fixed or '/'})")
    pattern = re.compile(_regex(location.path))
    return [file for file in _below(location, file_system, fixed or "/") if pattern.fullmatch(file.path)]


def _regex(glob: str) -> str:
    """The pattern for a glob; what follows after a matching directory is free."""
    result, at = "", 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at):
            result, at = result + "(?:[^/]+/)*", at + 3
        elif glob.startswith("**", at):
            result, at = result + ".*", at + 2
        elif char == "*":
            result, at = result + "[^/]*", at + 1
        elif char == "?":
            result, at = result + "[^/]", at + 1
        elif char == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            inside = "^/" + inside[1:] if inside.startswith("!") else inside
            result, at = f"{result}[{inside}]", end + 1
        else:
            result, at = result + re.escape(char), at + 1
    return result + "(?:/.*)?"
