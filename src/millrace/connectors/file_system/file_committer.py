"""``FileCommitter``: makes finished part files visible by renaming them, on the driver.

``CompactingCommitter`` first merges small files of one epoch and folder.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from millrace.common.files.file_systems import Location, open_file_system
from millrace.common.sink import Committer
from millrace.connectors.file_system.part_files import (
    UNKNOWN,
    PartState,
    PendingFile,
    discard_file,
    epoch_of,
    is_file,
    is_of,
    other_target,
    owner_in,
    part_store,
)
from millrace.connectors.sink_base import owner_of
from millrace.util.threads import JobPool

if TYPE_CHECKING:
    from millrace.connectors.file_system.file_writer import WriterState


logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Files that are renamed at the same time: on object stores and shared disks each is a conversation."""


class FileCommitter(Committer[PendingFile]):
    """Renames hidden files to their final names; doing so again changes nothing."""

    def __init__(self, base: Location, uid: str) -> None:
        self._base = base
        self._uid = uid
        self._recovered: frozenset[str] = frozenset()
        self._owners: set[str] = set()
        """jobs of which nothing runs but what this driver runs"""

    def commit(self, committables: Sequence[PendingFile]) -> None:
        """See ``show``."""
        self.show(committables)

    def show(self, committables: Sequence[PendingFile]) -> None:
        """Make files visible, as they are.

        :raises FileNotFoundError: if a file is gone that cannot have been renamed before.
        """
        # Files with the same target one after the other: each looks whether the name is still free.
        by_target: dict[tuple[str, str], list[PendingFile]] = {}
        for pending in committables:
            by_target.setdefault((pending.root, pending.target), []).append(pending)
        groups = list(by_target.values())
        if len(groups) <= AT_ONCE:
            for group in groups:
                self._commit(group)
            return
        with JobPool(AT_ONCE, "millrace-commit") as pool:
            done = [pool.submit(self._commit, group) for group in groups]
        for each in done:
            each.result()  # raises the first error; what else could be renamed is

    def _commit(self, group: Iterable[PendingFile]) -> None:
        for pending in group:
            store = part_store(pending.root)
            if store.size(pending.in_progress) is not None:
                target = store.free_target(pending.target, other_target(pending.target, pending.in_progress))
                store.move(pending.in_progress, target)
            elif store.size(pending.target) is None:
                if pending.in_progress not in self._recovered:
                    raise FileNotFoundError(
                        f"FileSink can't commit {pending.target}: it does not exist, and neither does the file to be "
                        f"renamed, {pending.in_progress}"
                    )
                # Finished before the recovery, and removed since then by a reader of the finished files.
                logger.warning("FileSink: %s was finished before the recovery; it is gone", pending.target)
            self.discard_replaced(pending)

    def discard_replaced(self, pending: PendingFile) -> None:
        """A file is visible: delete those from which it was copied."""
        ours = {owner_in(pending.in_progress), *self._owners}
        for old in pending.replaces:
            if owner_in(old) in ours:
                part_store(pending.root).delete(old)

    def abort(self, committables: Sequence[PendingFile]) -> None:
        """Delete the files of an epoch that counts for nothing; a file begun in an earlier epoch stays, since what goes
        on is a copy of it."""
        for pending in committables:
            if not pending.kept:
                part_store(pending.root).delete(pending.in_progress)

    def recover(self, job_id: str, committables: Sequence[PendingFile], states: Sequence[WriterState]) -> None:
        """Delete the hidden files of this job and sink that neither wait for their commit nor are gone on with."""
        self._recovered = frozenset(pending.in_progress for pending in committables)
        self._delete_others(job_id, committables, states, None)

    def sweep(
        self, job_id: str, epoch: int, committables: Sequence[PendingFile], states: Sequence[WriterState]
    ) -> None:
        self._delete_others(job_id, committables, states, epoch)

    def _delete_others(
        self, job_id: str, committables: Sequence[PendingFile], states: Sequence[WriterState], last: int | None
    ) -> None:
        """:param last: files of later epochs stay; None: no epoch is later."""
        owner = owner_of(job_id, self._uid)
        self._owners.add(owner)
        counting: list[PendingFile | PartState] = [*committables, *(part for state in states for part in state.parts)]
        # Names without directories: they are unique, and file systems write paths in their own ways.
        keep = {_name(path) for file in counting for path in (file.in_progress, *file.replaces)}
        store = part_store(self._base.root)
        for path in store.files(self._base.path):
            if is_of(owner, path) and _name(path) not in keep and (last is None or epoch_of(path) <= last):
                store.delete(path)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


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
        """Merge only files of at most this many bytes.

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
