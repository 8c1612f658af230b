"""What the sinks of a simulated program write to. It notices broken promises at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from tests.simulation.faults import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

Records = list[Hashable]


class Ledger:
    """Transactions of a two-phase sink."""

    def __init__(self, world: World) -> None:
        self.prepared: dict[str, Records] = {}
        self.committed: dict[str, Records] = {}
        self.counts: Counter[Hashable] = Counter()
        """all committed records"""
        self.haunted: set[str] = set()
        """transactions of zombies, which may come when all is over"""
        self._world = world
        self._aborted: set[str] = set()

    def prepare(self, name: str, records: Records) -> None:
        """Called in a task."""
        task = self._world.task
        assert task is not None
        if task.zombie:
            self.haunted.add(name)
            task.later(f"prepare {name}", lambda: self._prepare(name, records))
        else:
            self._prepare(name, records)

    def _prepare(self, name: str, records: Records) -> None:
        if name in self.prepared or name in self.committed:
            raise Violation(f"transaction {name} is prepared twice: a number was used again")
        self.prepared[name] = records

    def commit(self, name: str) -> None:
        """Called on the driver."""
        if name in self.committed:
            return
        if name not in self.prepared:
            raise Violation(f"transaction {name} is to be committed, but it was aborted or never prepared")
        self._world.promises.may_commit(name)
        records = self.committed[name] = self.prepared.pop(name)
        self.show(name, records)

    def show(self, name: str, records: Records) -> None:
        """From now on everybody sees these records."""
        self.counts.update(records)
        self._world.promises.shown(name, records)

    def abort(self, names: Iterable[str]) -> None:
        """Called on the driver."""
        for name in names:
            if name in self.committed:
                raise Violation(f"transaction {name} is to be aborted, but it is committed")
            self.prepared.pop(name, None)


class Parts:
    """Files that sinks append to over several epochs; the part up to some length is what counts."""

    def __init__(self, world: World) -> None:
        self.open: dict[str, Records] = {}
        self.finished: dict[str, Records] = {}
        self._world = world

    def begin(self, name: str) -> None:
        if name in self.open or name in self.finished:
            raise Violation(f"part {name} is begun twice: a number was used again")
        self.open[name] = []

    def cut(self, name: str, length: int) -> None:
        """Go on with a part as it was at the end of an epoch."""
        if name in self.finished:
            raise Violation(f"part {name} is to be gone on with, but it is finished")
        content = self.open.get(name)
        if content is None or len(content) < length:
            there = "gone" if content is None else f"{len(content)} records long"
            raise Violation(f"part {name} is to be gone on with at length {length}, but it is {there}")
        del content[length:]

    def append(self, name: str, record: Hashable) -> None:
        self.open[name].append(record)

    def finish(self, name: str, length: int) -> None:
        """Called on the driver."""
        if name in self.finished:
            return
        content = self.open.get(name)
        if content is None or len(content) < length:
            raise Violation(f"part {name} of {length} records is to be committed, but there is {content}")
        self._world.promises.may_commit(name)
        del self.open[name]
        self.finished[name] = content[:length]
        self._world.ledger.show(name, self.finished[name])

    def remove(self, name: str) -> None:
        self.open.pop(name, None)
