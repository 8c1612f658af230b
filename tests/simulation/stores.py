"""What the two-phase sink of a simulated program writes to. It notices broken promises at once."""

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
