"""Sinks that write to the stores of the world: in two phases, over several epochs, and at least once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.simulation.current import world

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.owner import owner_of

ROLL = 3
"""Records after which a part is full."""


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
        self._records.append(element)

    def prepare_commit(self) -> list[str]:
        world().user_code("prepare")
        if not self._records:
            return []
        name = new_name(self._context, self._uid)
        world().ledger.prepare(name, self._records)
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
        mine = owner_of(job_id, self._uid)
        world().ledger.abort(
            [name for name in world().ledger.prepared if name.startswith(mine) and name not in committables]
        )
        world().driver_code("recover, done")


@dataclass(frozen=True)
class Part:
    """A part, and how much of it counts."""

    name: str
    length: int


@dataclass(frozen=True)
class PartSink(Sink[Hashable]):
    """Parts that are appended to over several epochs: writers have state."""

    uid: str = ""

    def for_operator(self, uid: str) -> PartSink:
        return replace(self, uid=uid)

    def create_writer(self, context: WriterInitContext) -> PartWriter:
        return PartWriter(context, self.uid, ())

    def restore_writer(self, context: WriterInitContext, states: Sequence[Part]) -> PartWriter:
        return PartWriter(context, self.uid, states)

    def create_committer(self) -> PartCommitter:
        return PartCommitter(self.uid)


class PartWriter(SinkWriter[Hashable]):
    def __init__(self, context: WriterInitContext, uid: str, states: Sequence[Part]) -> None:
        self._context = context
        self._uid = uid
        self._full: list[Part] = []
        self._open: Part | None = None
        for part in states:
            world().parts.cut(part.name, part.length)
            if self._open is not None:
                self._full.append(self._open)  # from a subtask that is no more
            self._open = part

    def write(self, element: Hashable, context: SinkWriterContext) -> None:
        if self._open is None:
            self._open = Part(new_name(self._context, self._uid), 0)
            world().parts.begin(self._open.name)
        world().parts.append(self._open.name, element)
        self._open = replace(self._open, length=self._open.length + 1)
        if self._open.length >= ROLL:
            self._roll()

    def _roll(self) -> None:
        if self._open is not None:
            self._full.append(self._open)
            self._open = None

    def flush(self, end_of_input: bool) -> None:
        world().user_code("flush")
        if end_of_input:
            self._roll()

    def prepare_commit(self) -> list[Part]:
        return self._full

    def snapshot_state(self, checkpoint_id: int) -> list[Part]:
        return [] if self._open is None else [self._open]


class PartCommitter(Committer[Part]):
    def __init__(self, uid: str) -> None:
        self._uid = uid

    def commit(self, committables: Sequence[Part]) -> None:
        for part in committables:
            world().driver_code("commit")
            world().parts.finish(part.name, part.length)
            world().driver_code("commit, done")

    def abort(self, committables: Sequence[Part]) -> None:
        """A part that was begun in an earlier epoch is gone on with: ``recover`` knows which."""

    def recover(self, job_id: str, committables: Sequence[Part], states: Sequence[Part]) -> None:
        world().driver_code("recover")
        mine = owner_of(job_id, self._uid)
        keep = {part.name for part in (*committables, *states)}
        for name in [name for name in world().parts.open if name.startswith(mine) and name not in keep]:
            world().parts.remove(name)
        world().driver_code("recover, done")


@dataclass(frozen=True)
class PlainSink(Sink[Hashable]):
    """At least once: whatever is written is seen."""

    def create_writer(self, context: WriterInitContext) -> PlainWriter:
        return PlainWriter()


class PlainWriter(SinkWriter[Hashable]):
    def write(self, element: Hashable, context: SinkWriterContext) -> None:
        world().seen(element)


def new_name(context: WriterInitContext, uid: str) -> str:
    """``prepared_name`` with a serial number for its random part."""
    owner = owner_of(context.get_job_id(), uid)
    return f"{owner}-{context.get_checkpoint_id()}-{context.get_index_of_subtask()}-{world().serial()}"
