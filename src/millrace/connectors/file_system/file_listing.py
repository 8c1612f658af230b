"""From paths to splits: the files that a path, a folder or a glob names, and the parts of them that are read apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from millrace.common.files.file_systems import Location, locate
from millrace.common.files.object_stores import explaining
from millrace.connectors.file_system.file_format import FileFormat
from millrace.connectors.file_system.file_stream import FileSplit

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


MIN_SPLIT_SIZE = 4 << 20


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """How files are found and cut into splits.

        >>> provider = FileEnumeratorProvider.default_non_splittable_file_enumerator()
        >>> builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "folder")
        >>> source = builder.set_file_enumerator(provider).build()

    :param splittable: whether large files of a splittable format are cut.
    :param split_size: bytes a split. By default files are cut only where there are fewer of them than subtasks, so that
        none has to read two: parts of a file that are read one after the other with those of another file between them
        would be out of order, and late for event time.
    """

    splittable: bool = True
    split_size: int | None = None

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Cuts large files if the format allows it; compressed files stay whole."""
        return FileEnumeratorProvider(True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """One split a file."""
        return FileEnumeratorProvider(False)

    def files(self, paths: tuple[str, ...], by_time: bool) -> list[FoundFile]:
        """All files below the paths, each once, sorted by path or by (modification time, path).

        :raises FileNotFoundError: if a path does not exist.
        """
        found = {file.key: file for path in paths for file in list_files(path)}
        return sorted(found.values(), key=lambda file: (file.modified_ns if by_time else 0, file.root, file.path))

    def splits(self, file: FoundFile, format: FileFormat[Any], parts: int) -> list[FileSplit]:
        """The splits of a file, in its order: at most so many parts, unless a size was asked for."""
        size = self.split_size or max(-(-file.size // parts), MIN_SPLIT_SIZE)
        if not self.splittable or file.size <= size or not format.is_splittable(file.path):
            return [FileSplit(file.path, 0, file.size, file.root)]
        return [
            FileSplit(file.path, offset, min(size, file.size - offset), file.root, whole=False)
            for offset in range(0, file.size, size)
        ]


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Which reader gets which split: here always the next split for the next reader that asks.

    >>> assigner = FileSplitAssignerProvider.locality_aware_split_assigner()
    """

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Accepted for compatibility: Spark places the tasks, so no split is local to a reader beforehand."""
        return FileSplitAssignerProvider()
