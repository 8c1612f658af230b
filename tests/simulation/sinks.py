"""Sinks that write to the stores of the world: in two phases, over several epochs, and at least once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.simulation.current import world
from tests.simulation.part_files import encode

from millrace.common.files.file_systems import locate
from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.connectors.file_system.file_committer import FileCommitter
from millrace.connectors.file_system.file_writer import WriterState
from millrace.connectors.file_system.part_files import PendingFile
from millrace.connectors.sink_base import epoch_of_name, owner_of


@dataclass(frozen=True)
class LedgerSink(Sink[Hashable]):
    """What a subtask gets in an epoch is one transaction."""

    uid: str = ""

    def for_operator(self, uid: str) -> LedgerSink:
        return replace(self, uid=uid)

    def create_writer(self, context: WriterInitContext) -> LedgerWriter:
        return LedgerWriter(context, self.uid)

    def create_committer(self) -> LedgerCommitter:
        return LedgerCommitter(self.uid)


class LedgerWriter(SinkWriter[Hashable]):
    def __init__(self, context: WriterInitContext, uid: str) -> None:
        self._context = context
        self._uid = uid
        self._records: list[Hashable] = []

    def write(self, element: Hashable, context: SinkWriterContext) -> None:
        world().sink_code("write")
        self._records.append(element)

    def prepare_commit(self) -> list[str]:
        world().user_code("prepare")
        records, self._records = self._records, []
        if not records:
            return []
        name = new_name(self._context, self._uid)
        world().ledger.prepare(name, records)
        return [name]


class LedgerCommitter(Committer[str]):
    def __init__(self, uid: str) -> None:
        self._uid = uid

    def commit(self, committables: Sequence[str]) -> None:
        for name in committables:
            world().driver_code("commit")
            world().ledger.commit(name)
            world().driver_code("commit, done")

    def abort(self, committables: Sequence[str]) -> None:
        world().driver_code("abort")
        world().ledger.abort(committables)
        world().driver_code("abort, done")

    def recover(self, job_id: str, committables: Sequence[str], states: Sequence[Any]) -> None:
        world().driver_code("recover")
        world().ledger.abort(self._unheard(job_id, committables))
        world().driver_code("recover, done")

    def sweep(self, job_id: str, epoch: int, committables: Sequence[str], states: Sequence[Any]) -> None:
        world().driver_code("sweep")
        world().ledger.abort(name for name in self._unheard(job_id, committables) if epoch_of_name(name) <= epoch)
        world().driver_code("sweep, done")

    def _unheard(self, job_id: str, committables: Sequence[str]) -> list[str]:
        mine = owner_of(job_id, self._uid)
        return [name for name in world().ledger.prepared if name.startswith(mine) and name not in committables]


class PartSink(FileSink[Hashable]):
    """The real thing, on files of the world: parts that are appended to over several epochs."""

    def __init__(self) -> None:
        policy = RollingPolicy.default_rolling_policy(part_size=60, rollover_interval=300, inactivity_interval=200)
        super().__init__(
            FileSink.for_row_format("/parts", Lines())
            .with_rolling_policy(policy)
            .with_bucket_check_interval(50)
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        )

    def create_committer(self) -> PartCommitter:
        return PartCommitter(locate("/parts"), self._uid)


class Lines:
    """A line for each record; fails now and then."""

    def encode(self, element: Hashable) -> bytes:
        world().sink_code("encode")
        world().user_code("encode")
        return encode(element)


class PartCommitter(FileCommitter):
    """Fails now and then, as its files do."""

    def abort(self, committables: Sequence[PendingFile]) -> None:
        world().driver_code("abort")
        super().abort(committables)
        world().driver_code("abort, done")

    def recover(self, job_id: str, committables: Sequence[PendingFile], states: Sequence[WriterState]) -> None:
        world().driver_code("recover")
        super().recover(job_id, committables, states)
        world().driver_code("recover, done")

    def sweep(
        self, job_id: str, epoch: int, committables: Sequence[PendingFile], states: Sequence[WriterState]
    ) -> None:
        world().driver_code("sweep")
        super().sweep(job_id, epoch, committables, states)
        world().driver_code("sweep, done")


@dataclass(frozen=True)
class PlainSink(Sink[Hashable]):
    """At least once: whatever is written is seen."""

    def create_writer(self, context: WriterInitContext) -> PlainWriter:
        return PlainWriter()


class PlainWriter(SinkWriter[Hashable]):
    def write(self, element: Hashable, context: SinkWriterContext) -> None:
        world().sink_code("show")
        world().seen(element)


def new_name(context: WriterInitContext, uid: str) -> str:
    """``prepared_name`` with a serial number for its random part."""
    owner = owner_of(context.get_job_id(), uid)
    return f"{owner}-{context.get_checkpoint_id()}-{context.get_index_of_subtask()}-{world().serial()}"
