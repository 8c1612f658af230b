"""From files to splits: which parts of which file are read separately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.connectors.file_system.format import FileFormat
from millrace.connectors.file_system.listing import FoundFile, list_files
from millrace.connectors.file_system.split import FileSplit

__all__ = ["FileEnumeratorProvider", "FileSplitAssignerProvider"]

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
