"""Leaving out of the log what the chunks of the snapshot have seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millrace.connectors.cdc.changes import Change, Relation
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.events import SchemaChangeEvent
from millrace.connectors.cdc.schema import TableId
from millrace.connectors.cdc.splits import TableChunks

Events = Sequence[Change | SchemaChangeEvent]


class ChunkFilter:
    """For each side of a change: has the chunk that the row lies in seen it?

    The old row and the new one may lie in different chunks, which were read at different times. So an update of which
    one side was seen becomes a deletion or an insertion.
    """

    def __init__(self, chunks: Iterable[TableChunks]) -> None:
        self._tables: dict[TableId, TableChunks] = {each.table: each for each in chunks}

    @property
    def chunks(self) -> tuple[TableChunks, ...]:
        return tuple(self._tables.values())

    def passed(self, position: Any) -> None:
        """Forget tables of which no chunk has seen anything behind a position."""
        for each in self.chunks:
            if all(seen.passed(position) for seen in each.seen):
                del self._tables[each.table]

    def __bool__(self) -> bool:
        return bool(self._tables)

    def apply(self, events: Events, database: CdcDatabase) -> Events:
        """What is left of some events of the log."""
        if not self._tables:
            return events
        asked: dict[int, tuple[Relation, list[Change]]] = {}
        for each in events:
            if isinstance(each, Change) and each.relation.table in self._tables:
                asked.setdefault(id(each.relation), (each.relation, []))[1].append(each)
        if not asked:
            return events
        left: dict[int, Change | None] = {}
        for relation, changes in asked.values():
            left.update(self._of_table(relation, changes, database))
        kept = (left.get(id(each), each) for each in events)
        return [each for each in kept if each is not None]

    def _of_table(self, relation: Relation, changes: list[Change], database: CdcDatabase) -> dict[int, Change | None]:
        """By the identity of each change what is left of it."""
        table = self._tables[relation.table]
        old, new = self._numbers(table, relation, changes, database)
        found: dict[int, Change | None] = {}
        for change, before, after in zip(changes, old, new):
            mark = change.mark
            old_seen = table.seen[before].contains(mark)
            new_seen = old_seen if after == before else table.seen[after].contains(mark)
            found[id(change)] = _left(change, old_seen, new_seen)
        return found

    @staticmethod
    def _numbers(
        table: TableChunks, relation: Relation, changes: Sequence[Change], database: CdcDatabase
    ) -> tuple[list[int], list[int]]:
        """The numbers of the chunks of the old and the new rows; where one side is missing, those of the other."""
        if table.column is None or not table.bounds:
            return [0] * len(changes), [0] * len(changes)
        place = relation.schema.names.index(table.column)
        values = []
        for change in changes:
            old = change.after if change.before is None else change.before
            new = change.before if change.after is None else change.after
            assert old is not None and new is not None
            values += [old[place], new[place]]
        numbers = database.locate(relation, table.column, table.bounds, values)
        return numbers[0::2], numbers[1::2]


def _left(change: Change, old_seen: bool, new_seen: bool) -> Change | None:
    if change.op == "c":
        return None if new_seen else change
    if change.op == "d":
        return None if old_seen else change
    if old_seen and new_seen:
        return None
    if old_seen:
        return change._replace(op="c", before=None)
    if new_seen:
        return change._replace(op="d", after=None)
    return change
