"""A database in memory whose log and whose snapshots are as awkward as real ones, for tests of capturing itself."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.connectors.cdc.changes import Bounds, Change, Chunk, ChunkRows, LogPart, Relation, Seen, UpTo, backfilled
from millrace.connectors.cdc.database import CdcDatabase, LogReader, PositionLost, StartupOptions
from millrace.connectors.cdc.events import Column, TableId, TableSchema
from millrace.relational import types as t
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType

Row = tuple[Any, ...]
SERVERS: dict[str, FakeServer] = {}
"""by name: sources are pickled, servers are not"""


def schema(key: tuple[str, ...] = ("id",)) -> TableSchema:
    return TableSchema((Column("id", t.IntType()), Column("v", t.IntType())), key)


@dataclass(frozen=True)
class Exactly(Seen):
    """The transactions that a snapshot sees, in whichever order they were committed."""

    numbers: frozenset[int]
    high: int

    def contains(self, mark: int) -> bool:
        return mark - 1 in self.numbers

    def passed(self, position: int) -> bool:
        return bool(position >= self.high)


class FakeServer:
    """Tables of (id, v), and a log with one entry per transaction.

    :param key: of the tables; without one the log has whole old rows and rows may be equal.
    """

    def __init__(self, name: str, tables: Sequence[str], key: tuple[str, ...], seed: int) -> None:
        self.key = key
        self.dice = random.Random(seed)
        self.lock = threading.RLock()
        self.tables = {TableId("", "s", table): list[Row]() for table in tables}
        self.matching = set(self.tables)
        """those that are captured"""
        self.relations = {table: Relation(table, schema(key)) for table in self.tables}
        self.log: list[tuple[Change, ...]] = []
        self.kept_from = 0
        self.begun = 0
        """where the log is read from: what is before it every snapshot sees"""
        self.busy = False
        SERVERS[name] = self

    def change(self, count: int = 1) -> None:
        """Transactions of some changes each."""
        with self.lock:
            for _ in range(count):
                number = len(self.log)
                made: list[Change] = []
                for _ in range(self.dice.randrange(1, 4)):
                    made += self._one(number)
                self.log.append(tuple(made))

    def update(self, old: Row, new: Row) -> None:
        """A transaction that changes one row."""
        with self.lock:
            table, rows = next((table, rows) for table, rows in self.tables.items() if old in rows)
            number = len(self.log)
            self.log.append(tuple(self._update(self.relations[table], rows, rows.index(old), new, number)))

    def _one(self, number: int) -> list[Change]:
        table = self.dice.choice(list(self.tables))
        rows, relation = self.tables[table], self.relations[table]
        new: Row = (self.dice.randrange(60), self.dice.randrange(60))
        free = not self.key or all(row[0] != new[0] for row in rows)
        kind = self.dice.random()
        if kind < 0.4 or not rows:
            if free:
                rows.append(new)
                return [Change("c", relation, None, new, number + 1, number + 1)]
            place = next(place for place, row in enumerate(rows) if row[0] == new[0])
            return self._update(relation, rows, place, new, number)
        place = self.dice.randrange(len(rows))
        if kind < 0.6:
            return [Change("d", relation, rows.pop(place), None, number + 1, number + 1)]
        if kind < 0.8:
            return self._update(relation, rows, place, (rows[place][0], new[1]), number)
        return self._update(relation, rows, place, new, number) if free else []

    def _update(self, relation: Relation, rows: list[Row], place: int, new: Row, number: int) -> list[Change]:
        old, rows[place] = rows[place], new
        if self.key and old[0] != new[0]:
            return [
                Change("d", relation, old, None, number + 1, number + 1),
                Change("c", relation, None, new, number + 1, number + 1),
            ]
        return [Change("u", relation, old, new, number + 1, number + 1)]

    def as_of(self, table: TableId, numbers: frozenset[int]) -> list[Row]:
        """The rows that these transactions leave. Those of one key must not be seen out of order."""
        rows: list[Row] = []
        for number, transaction in enumerate(self.log):
            if number not in numbers:
                continue
            for change in transaction:
                if change.relation.table != table:
                    continue
                if change.before is not None:
                    rows.remove(change.before)
                if change.after is not None:
                    rows.append(change.after)
        return rows

    def visible(self) -> frozenset[int]:
        """What a snapshot sees: not always the last transactions, and not always in the order of the log."""
        seen, touched = set(range(len(self.log))), set[Any]()
        for number in range(max(self.begun, len(self.log) - 4), len(self.log)):
            rows = {
                (change.relation.table, row) for change in self.log[number] for row in (change.before, change.after)
            }
            keys = {(table, row[0] if self.key else 0) for table, row in rows if row is not None}
            if self.dice.random() < 0.4 or keys & touched:
                seen.discard(number)
                touched |= keys
        return frozenset(seen)


@dataclass(frozen=True)
class FakeDatabase(CdcDatabase):
    """:ivar exact: whether snapshots say which transactions they see; else only positions around them are known."""

    name: str
    exact: bool = True
    title = "Fake"
    connector = "fake"

    @property
    def _server(self) -> FakeServer:
        return SERVERS[self.name]

    def check(self) -> None: ...

    def tables(self) -> Mapping[TableId, TableSchema]:
        return {table: schema(self._server.key) for table in sorted(self._server.matching)}

    def prepare(self, startup: StartupOptions, tables: Sequence[TableId], owner: str) -> int:
        self._server.begun = len(self._server.log)
        return self._server.begun

    def resume(self, position: int, tables: Sequence[TableId], owner: str) -> None:
        if position < self._server.kept_from:
            raise PositionLost(f"the log begins at {self._server.kept_from}")

    def bounds(self, table: TableId, schema: TableSchema, column: str) -> Bounds:
        place = schema.names.index(column)
        values = [row[place] for row in self._server.tables[table]]
        # Statistics are old.
        return Bounds(min(values, default=None), max(values, default=None), max(1, len(values) + self._off()))

    def _off(self) -> int:
        return self._server.dice.randrange(-5, 30)

    def next_bound(
        self, table: TableId, schema: TableSchema, column: str, start: Any, greatest: Any, rows: int
    ) -> Any | None:
        place = schema.names.index(column)
        values = sorted(row[place] for row in self._server.tables[table] if row[place] <= greatest)
        values = [value for value in values if start is None or value >= start]
        if len(values) <= rows:
            return None
        return next((value for value in values[rows:] if value != start), None)

    def read_chunk(self, chunk: Chunk, schema: TableSchema) -> ChunkRows:
        server = self._server
        place = None if chunk.column is None else schema.names.index(chunk.column)

        def inside(row: Row) -> bool:
            if place is None:
                return True
            return (chunk.start is None or row[place] >= chunk.start) and (chunk.end is None or row[place] < chunk.end)

        with server.lock:
            low = len(server.log)
            if server.busy:
                server.change(server.dice.randrange(3))
            if self.exact:
                numbers = server.visible()
                rows = [row for row in server.as_of(chunk.table, numbers) if inside(row)]
                seen: Seen = Exactly(numbers, len(server.log))
            else:
                upto = server.dice.randrange(low, len(server.log) + 1)
                rows = [row for row in server.as_of(chunk.table, frozenset(range(upto))) if inside(row)]
            if server.busy:
                server.change(server.dice.randrange(3))
            if not self.exact:
                between = [
                    change for made in server.log[low:] for change in made if change.relation.table == chunk.table
                ]
                rows = backfilled(rows, between, lambda row: row[0], inside)
                seen = UpTo(len(server.log))
        columns = list(zip(*rows)) if rows else [(), ()]
        return ChunkRows(server.relations[chunk.table], columns, len(rows), seen)

    def open_log(self, position: Any, relations: Sequence[Relation], owner: str) -> FakeLog:
        return FakeLog(self._server, position, {each.table for each in relations})

    def keys(self, relation: Relation, column: str, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def column(self, values: Any, native: str, kind: DataType, where: str) -> pa.Array:
        return pa.array(list(values), arrow_type(kind))

    def source(self, change: Change) -> Mapping[str, Any]:
        return {"position": str(change.mark), "txId": change.mark}


class FakeLog(LogReader):
    """A position is a number of transactions, or of one with some of its changes: (number, changes)."""

    def __init__(self, server: FakeServer, position: Any, wanted: set[TableId]) -> None:
        self._server, self._wanted = server, wanted
        self._number, self._skip = position if isinstance(position, tuple) else (position, 0)
        if self._number < server.kept_from:
            raise PositionLost(f"the log begins at {server.kept_from}")

    def read(self, seconds: float) -> LogPart | None:
        server = self._server
        with server.lock:
            if server.busy:
                server.change(server.dice.randrange(2))
            if self._number >= len(server.log):
                return None
            transaction = server.log[self._number][self._skip :]
            some = transaction[: server.dice.randrange(1, 4)]
            if len(some) < len(transaction):
                self._skip += len(some)
                return LogPart(self._of(some), _Within(self._number, self._skip))
            self._number, self._skip = self._number + 1, 0
            return LogPart(self._of(some), self._number)

    def _of(self, changes: Sequence[Change]) -> list[Change]:
        return [change for change in changes if change.relation.table in self._wanted]


class _Within(tuple[int, int]):
    """A position in the middle of a transaction. It is not behind it."""

    def __new__(cls, number: int, changes: int) -> _Within:
        return super().__new__(cls, (number, changes))

    def __getnewargs__(self) -> tuple[int, int]:
        return self[0], self[1]

    def __ge__(self, other: Any) -> bool:
        return self[0] >= other if isinstance(other, int) else super().__ge__(other)
