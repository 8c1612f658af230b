"""Small files of one epoch and folder are put together before they become visible."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.files.file_systems import Location, open_file_system
from millrace.connectors.file_system.committer import FileCommitter
from millrace.connectors.file_system.part import UNKNOWN, PendingFile
from millrace.connectors.file_system.part_store import discard_file, is_file

__all__ = ["Compaction", "CompactingCommitter", "FileCompactStrategy", "FileCompactor", "SizedFile"]

SizedFile = tuple[PendingFile, int]
"""(hidden file, its bytes)"""


@dataclass(frozen=True)
class Compaction:
    """Puts files together up to a size, on the driver.

    May be called again with the same files, after a failure at any place: which files go together depends on nothing
    but their names and sizes, and once what they have become is visible only the parts are left to be deleted.
    """

    merge: Callable[[Sequence[Any], Any], None]
    """writes the rows of files, open to be read, into one that is open to be written"""
    size: int | None
    """bytes; None: all of a folder go together"""

    def commit(self, files: Sequence[SizedFile], committer: FileCommitter) -> None:
        """Make the rows of one epoch's files visible."""
        by_folder: dict[str, list[SizedFile]] = {}
        for file in sorted(files, key=lambda file: file[0].target):
            by_folder.setdefault(file[0].target.rpartition("/")[0], []).append(file)
        for group in by_folder.values():
            for together in self._bins(group):
                if len(together) == 1:
                    committer.show(together)
                else:
                    self._commit_together(together, committer)

    def _bins(self, files: Sequence[SizedFile]) -> Iterator[list[PendingFile]]:
        gathered: list[PendingFile] = []
        total = 0
        for file, size in files:
            if gathered and self.size is not None and total + size > self.size:
                yield gathered
                gathered, total = [], 0
            gathered.append(file)
            total += size
        if gathered:
            yield gathered

    def _commit_together(self, parts: Sequence[PendingFile], committer: FileCommitter) -> None:
        whole = _compacted(parts[0])
        file_system = open_file_system(whole.root)[0]
        if not is_file(file_system, whole.target):
            if all(is_file(file_system, part.in_progress) for part in parts):
                with ExitStack() as opened:
                    sources = [opened.enter_context(file_system.open_input_file(part.in_progress)) for part in parts]
                    target = opened.enter_context(file_system.open_output_stream(whole.in_progress))
                    self.merge(sources, target)
            committer.show([whole])
        for part in parts:
            discard_file(file_system, part.in_progress)
            committer.discard_replaced(part)


class CompactingCommitter(FileCommitter):
    """Puts the files of an epoch and a bucket together, and makes visible what they have become."""

    def __init__(self, base: Location, uid: str, compaction: Compaction) -> None:
        super().__init__(base, uid)
        self._compaction = compaction

    def commit(self, committables: Sequence[PendingFile]) -> None:
        by_epoch: dict[int, list[SizedFile]] = {}
        for pending in committables:
            by_epoch.setdefault(pending.epoch, []).append((pending, pending.size))
        # A file of which this is not known was finished by a sink without compaction.
        others = [pending for pending, _ in by_epoch.pop(UNKNOWN, [])]
        self.show(others)
        for _, group in sorted(by_epoch.items()):
            self._compaction.commit(group, self)


def _compacted(first: PendingFile) -> PendingFile:
    """What parts become: named after the first one, and hidden as it is as long as it is written."""
    directory, _, name = first.target.rpartition("/")
    hidden = first.in_progress.rpartition("/")[2]
    return replace(
        first,
        target=f"{directory}/compacted-{name}",
        in_progress=f"{directory}/{hidden.replace(name, f'compacted-{name}', 1)}",
        kept=0,
        replaces=(),
    )


# -- what ``FileSink.enable_compact`` is given ------------------------------------------------------------------------


@dataclass(frozen=True)
class FileCompactStrategy:
    """When to put files together, from ``FileCompactStrategy.builder()``.

        >>> FileCompactStrategy.builder().set_size_threshold(1024).build().size_threshold
        1024
    """

    size_threshold: int | None = None
    """bytes that files together have at most; None: all files of a checkpoint and a bucket become one"""

    @staticmethod
    def builder() -> FileCompactStrategyBuilder:
        """Begin with neither a size nor a number of checkpoints."""
        return FileCompactStrategyBuilder()


class FileCompactStrategyBuilder:
    """Collects the settings of a ``FileCompactStrategy``."""

    def __init__(self) -> None:
        self._size: int | None = None
        self._checkpoints: int | None = None

    def enable_compaction_on_checkpoint(self, num_checkpoints_before_compaction: int) -> FileCompactStrategyBuilder:
        """Put files together when so many checkpoints have passed. They are at the end of each, whatever the number, so
        that no file waits to be seen.

        :raises ValueError: the number is not positive.
        """
        self._checkpoints = _positive("num_checkpoints_before_compaction", num_checkpoints_before_compaction)
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """So many bytes have files at most that are put together.

        :raises ValueError: the number is not positive.
        """
        self._size = _positive("size_threshold", size_threshold)
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Without effect: the driver puts files together, one after the other.

        :raises ValueError: the number is not positive.
        """
        _positive("num_compact_threads", num_compact_threads)
        return self

    def build(self) -> FileCompactStrategy:
        """:raises ValueError: neither a size nor a number of checkpoints was set."""
        if self._size is None and self._checkpoints is None:
            raise ValueError(
                "a FileCompactStrategy needs set_size_threshold() or enable_compaction_on_checkpoint(), or both"
            )
        return FileCompactStrategy(self._size)


FileCompactStrategy.Builder = FileCompactStrategyBuilder  # type: ignore[attr-defined]


class FileCompactor:
    """How files are put together.

        >>> FileCompactor.concat_file_compactor(b",").concatenates
        True
    """

    concatenates = False
    """whether it writes bytes of one file behind those of another"""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Write files one behind the other, with these bytes between them. For formats of rows."""
        return _Concatenating(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Leave each file as it is."""
        return FileCompactor()

    def _compaction(self, strategy: FileCompactStrategy) -> Compaction | None:
        return None


class _Concatenating(FileCompactor):
    concatenates = True

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter

    def _compaction(self, strategy: FileCompactStrategy) -> Compaction:
        return Compaction(self._merge, strategy.size_threshold)

    def _merge(self, sources: Sequence[Any], target: Any) -> None:
        for number, source in enumerate(sources):
            if number and self._delimiter:
                target.write(self._delimiter)
            shutil.copyfileobj(source, target)


def _positive(name: str, number: int) -> int:
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {number}")
    return number
