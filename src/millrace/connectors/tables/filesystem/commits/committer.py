"""Makes files visible, and partitions complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.common.files.file_systems import Location
from millrace.common.sink import Committer
from millrace.connectors.file_system.committer import FileCommitter
from millrace.connectors.file_system.compaction import Compaction, SizedFile
from millrace.connectors.file_system.part import PendingFile
from millrace.connectors.file_system.writer import WriterState
from millrace.connectors.tables.filesystem.commits.policies import PartitionCommitContext, PartitionCommitPolicy
from millrace.connectors.tables.filesystem.commits.triggers import CommitTrigger
from millrace.connectors.tables.filesystem.layout.partitions import texts_of


@dataclass(frozen=True)
class Written:
    """What one writer did in one epoch."""

    epoch: int
    subtasks: int
    """how many there are"""
    now: int
    """its clock at the end of the epoch, ms"""
    watermark: int
    idle: bool
    ended: bool
    """whether nothing follows"""
    files: tuple[PendingFile, ...]
    sizes: tuple[int, ...]
    """of the files, in bytes; empty if it is not shown"""
    folders: tuple[str, ...]
    """the partitions that got rows, or whose files are finished now"""


@dataclass(frozen=True)
class Waiting:
    """Partitions that are not complete yet, with the time of their first row (ms)."""

    created: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class PartitionCommit:
    """When and how partitions are committed."""

    table: tuple[str, str, str]
    keys: tuple[str, ...]
    trigger: CommitTrigger
    policies: tuple[PartitionCommitPolicy, ...]

    def commit(self, folder: str, base: Location) -> None:
        """Tell that a partition is complete."""
        texts = texts_of(folder)
        path = f"{base.path.rstrip('/')}/{folder}" if folder else base.path
        context = PartitionCommitContext(
            self.table, self.keys, tuple(texts[key] for key in self.keys), Location(base.root, path)
        )
        for policy in self.policies:
            policy.commit(context)


@dataclass
class TableCommitter(Committer[Any]):
    """Renames hidden files; with ``compaction`` those of an epoch and a folder become fewer. Then partitions that are
    due are committed; the others wait among what is to be committed, so checkpoints and savepoints keep them."""

    base: Location
    uid: str
    partitions: PartitionCommit | None = None
    compaction: Compaction | None = None
    _files: FileCommitter = field(init=False)

    def __post_init__(self) -> None:
        self._files = FileCommitter(self.base, self.uid)

    def commit(self, committables: Sequence[Any]) -> Sequence[Any] | None:
        written = [each for each in committables if isinstance(each, Written)]
        self.show(written, [each for each in committables if isinstance(each, PendingFile)])
        return None if self.partitions is None else self._commit_partitions(committables, written)

    def show(self, written: Sequence[Written], files: Sequence[PendingFile]) -> None:
        """Make files visible. All files of an epoch are there."""
        if self.compaction is None:
            self._files.commit([*files, *(file for each in written for file in each.files)])
            return
        by_epoch: dict[int, list[SizedFile]] = {}
        for each in written:
            by_epoch.setdefault(each.epoch, []).extend(zip(each.files, each.sizes, strict=True))
        for _, group in sorted(by_epoch.items()):
            self.compaction.commit(group, self._files)

    def _commit_partitions(self, committables: Sequence[Any], written: Sequence[Written]) -> list[Any]:
        assert self.partitions is not None
        created: dict[str, int] = {}
        for each in committables:
            if isinstance(each, Waiting):
                created.update(each.created)
        for report in sorted(written, key=lambda report: report.now):
            for folder in report.folders:
                created.setdefault(folder, report.now)
        newest = max((report.epoch for report in written), default=None)
        last = [report for report in written if report.epoch == newest]
        # In batch mode subtasks without rows say nothing.
        if last and (len(last) >= last[0].subtasks or all(report.ended for report in last)):
            for folder in [each for each in created if self._is_due(each, created[each], last)]:
                self.partitions.commit(folder, self.base)
                del created[folder]
        return [Waiting(tuple(created.items()))] if created else []

    def _is_due(self, folder: str, created: int, last: Sequence[Written]) -> bool:
        assert self.partitions is not None
        if all(report.ended for report in last):
            return True
        # Whoever is idle holds nobody back; if all are, the furthest one speaks for them.
        active = [report.watermark for report in last if not report.idle]
        watermark = min(active) if active else max(report.watermark for report in last)
        return self.partitions.trigger.is_due(folder, created, watermark, max(report.now for report in last))

    def abort(self, committables: Sequence[Any]) -> None:
        self._files.abort(files_of(committables))

    def recover(self, job_id: str, committables: Sequence[Any], states: Sequence[WriterState]) -> None:
        self._files.recover(job_id, files_of(committables), states)

    def sweep(self, job_id: str, epoch: int, committables: Sequence[Any], states: Sequence[WriterState]) -> None:
        self._files.sweep(job_id, epoch, files_of(committables), states)

    def close(self) -> None:
        self._files.close()


def files_of(committables: Sequence[Any]) -> list[PendingFile]:
    """All hidden files."""
    found = [each for each in committables if isinstance(each, PendingFile)]
    return found + [file for each in committables if isinstance(each, Written) for file in each.files]
