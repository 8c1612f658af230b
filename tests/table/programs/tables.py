"""The tables of programs as connectors: ``WITH ('connector' = 'program', 'program' = ...)``."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import cloudpickle
import numpy as np
from tests.table.programs.program import Program, Source

from millrace.common.types import RowKind
from millrace.connectors.generated_sources import CollectionSource, CollectionSplit
from millrace.connectors.source_base import QueueEnumerator
from millrace.relational import nodes as n
from millrace.relational.nodes.rel import transform
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import (
    ALL_KINDS,
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSource,
)
from millrace.relational.values import to_arrow
from millrace.table.sessions.table_info import register_factory

KINDS: dict[str, frozenset[RowKind]] = {"I": INSERT_ONLY, "I,UA,D": UPSERT, "I,UB,UA,D": ALL_KINDS}
_declared: dict[str, Source] = {}


class SplitRows(CollectionSource[Rows]):
    """Lists of batches, each read by one subtask in order."""

    def __init__(self, splits: Sequence[Sequence[Rows]]) -> None:
        super().__init__(())
        self._splits = splits

    def create_enumerator(self, context: Any, checkpoint: Any = None) -> QueueEnumerator[CollectionSplit]:
        if checkpoint is None:
            payloads = [cloudpickle.dumps(list(split)) for split in self._splits]
            checkpoint = [CollectionSplit(str(number), payload) for number, payload in enumerate(payloads)]
        return QueueEnumerator(context, checkpoint)


class ProgramTable(TableSource):
    """The rows of a ``Source``: in one batch, or divided at random."""

    def __init__(self, source: Source, columns: n.Schema, alone: bool = False) -> None:
        self.source = source
        self.kinds = KINDS[source.mode]
        self._columns = columns
        self._draw: random.Random | None = None
        self._alone = alone
        self._lag = 0

    def divided(self, draw: random.Random, alone: bool, lag: int) -> ProgramTable:
        """
        :param alone: whether each row is a batch of its own.
        :param lag: batches without rows before those of a table that comes after others.
        """
        table = ProgramTable(self.source, self._columns, alone)
        table.primary_key, table._draw = self.primary_key, draw
        table._lag = lag if self.source.after else 0
        return table

    def content(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(self.source.content(self.primary_key))

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> SplitRows:
        changelog = self.source.changelog
        in_order = self.source.timed or self.source.changes or self._alone
        readers = 1 if in_order or self._draw is None else self._draw.randint(1, 3)
        return SplitRows([self._batches(changelog[reader::readers], columns) for reader in range(readers)])

    def _batches(self, changelog: Sequence[tuple[int, tuple[Any, ...]]], columns: Sequence[int]) -> list[Rows]:
        batches = [self._rows([], columns)] * self._lag
        rest = list(changelog)
        while rest:
            size = 1 if self._alone else len(rest)
            if self._draw is not None and size > 1:
                size = self._draw.randint(0, min(size, 4))
            batches.append(self._rows(rest[:size], columns))
            rest = rest[size:]
        return batches

    def _rows(self, changes: Sequence[tuple[int, tuple[Any, ...]]], columns: Sequence[int]) -> Rows:
        arrays = [to_arrow([row[at] for _, row in changes], self._columns[at].type) for at in columns]
        kinds = np.array([kind for kind, _ in changes], np.uint8)
        return Rows(record_batch(arrays, len(changes)), kinds if self.source.changes else None)


class LookedUp(LookupTableSource):
    def __init__(self, rows: Sequence[tuple[Any, ...]], key: Sequence[int]) -> None:
        self._rows = rows
        self._key = key

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        for key in keys:
            yield [row for row in self._rows if tuple(row[at] for at in self._key) == tuple(key)]


class ProgramFactory(TableFactory):
    """``'alone' = 'true'``: each row is a batch of its own."""

    identifier = "program"
    required = ("program",)
    optional = ("alone",)

    def source(self, table: TableContext) -> TableSource:
        return ProgramTable(_declared[table.options["program"]], table.columns, table.options.get("alone") == "true")


class LookupFactory(TableFactory):
    identifier = "program-lookup"
    required = ("program",)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        return LookedUp(_declared[table.options["program"]].rows, key)


register_factory(ProgramFactory)
register_factory(LookupFactory)


def create_statements(program: Program, more: str = "") -> list[str]:
    """The program's tables as CREATE TABLE.

    :param more: more options.
    """
    found = []
    for source in program.tables:
        name = f"{program.name}.{source.name}"
        _declared[name] = source
        connector = "program-lookup" if source.lookup else "program"
        options = f"'connector' = '{connector}', 'program' = '{name}'{more}"
        found.append(f"CREATE TABLE {source.name} ({source.columns}) WITH ({options})")
    return found


def divided(plan: n.Rel, draw: random.Random, alone: bool) -> n.Rel:
    """The plan over tables whose batches and readers are drawn anew, or with batches of one row."""
    longest = max((len(table.source.rows) for table in _tables(plan)), default=0)
    lag = 2 * (longest + 5)

    def change(node: n.Rel) -> n.Rel:
        return replace(node, source=node.source.divided(draw, alone, lag)) if isinstance(node, n.Scan) else node

    return transform(plan, change)


def at_rest(plan: n.Rel) -> n.Rel:
    """The plan over what is in the tables at the end, as batch mode sees them."""

    def change(node: n.Rel) -> n.Rel:
        return n.Values(node.columns, node.source.content()) if isinstance(node, n.Scan) else node

    return transform(plan, change)


def _tables(plan: n.Rel) -> list[ProgramTable]:
    return [node.source for node in n.find(plan, n.Scan)]
