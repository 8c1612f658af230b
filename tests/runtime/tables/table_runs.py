"""Operators on tables under test: rows in, the table that the changes add up to out, in every variant of a run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import settings
from tests.runtime.tables.media import other_media

from millrace.relational.rex import Ref
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.base import TableConfig
from millrace.testing import Element, OperatorHarness, Outcome
from millrace.testing.variants import _on_disk, _variants, run_script

few = settings(max_examples=5, deadline=None)
"""for properties that run in all variants"""

Row = tuple[Any, ...]
Change = tuple[int, Row]
"""(row kind, values)"""
Table = Counter[Row]


def refs(*types: DataType) -> list[Ref]:
    """All columns of an input."""
    return [Ref(each, index) for index, each in enumerate(types)]


def rows_of(changes: Sequence[Change], types: Sequence[DataType]) -> Rows:
    """Changes as one batch."""
    kinds = np.array([kind for kind, _ in changes], np.uint8)
    columns = [pa.array([row[index] for _, row in changes], arrow_type(each)) for index, each in enumerate(types)]
    return Rows(record_batch(columns, len(changes)), kinds if kinds.any() else None)


def element(row: Row, types: Sequence[DataType], kind: int = INSERT, input: int = 0) -> Element:
    """One row as an element of a script."""
    return Element(rows_of([(kind, row)], types), input=input)


def changes_of(values: Sequence[Rows]) -> list[Change]:
    """The rows of batches in order, hashable."""
    found: list[Change] = []
    for rows in values:
        columns = [_cells(column) for column in rows.columns]
        found += zip(rows.kind_values().tolist(), zip(*columns) if columns else [()] * len(rows))
    return found


def _cells(column: pa.Array) -> list[Any]:
    """The values of a column, hashable; a map has no order."""
    cells = [_hashable(each) for each in column.to_pylist()]
    return [each and tuple(sorted(each, key=repr)) for each in cells] if pa.types.is_map(column.type) else cells


def _hashable(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((key, _hashable(each)) for key, each in value.items())
    return value


def table_of(changes: Sequence[Change]) -> Table:
    """What the changes add up to. Every row that is taken away must have been there."""
    table: Table = Counter()
    for kind, row in changes:
        if kind in (INSERT, UPDATE_AFTER):
            table[row] += 1
        else:
            assert table[row] > 0, f"{row} is taken away, but was not there: {changes}"
            table[row] -= 1
    return +table


def upserted(changes: Sequence[Change], keys: Sequence[int]) -> Table:
    """What changes without old rows add up to, by key."""
    table: dict[Row, Row] = {}
    for kind, row in changes:
        assert kind != UPDATE_BEFORE
        key = tuple(row[index] for index in keys)
        if kind == DELETE:
            assert key in table, f"{row} is deleted, but its key was not there"
            del table[key]
        else:
            assert (kind == INSERT) == (key not in table), f"{row} has the wrong kind {kind}: {changes}"
            table[key] = row
    return Counter(table.values())


def harness(config: TableConfig, inputs: int = 1, **settings: Any) -> OperatorHarness:
    return OperatorHarness(config.operator, inputs=inputs, **settings)


def outcomes(
    config: TableConfig, script: Sequence[Any], inputs: int = 1, disk: bool = False, seed: int | None = None
) -> Iterator[tuple[str, Outcome]]:
    """(variant, what came out): all at once, one by one, restored after each step, random splits, rebuilt."""
    first = random.randrange(1_000_000) if seed is None else seed
    on_disk = _on_disk(first) if disk else iter(())
    for name, run in chain(_variants(first, 1), on_disk):
        yield name, run(lambda: harness(config, inputs), script)


def on_all_media(config: TableConfig, script: Sequence[Any], inputs: int, disk: bool) -> Iterator[tuple[str, Outcome]]:
    """As ``outcomes``, and one of them on other media."""
    yield from outcomes(config, script, inputs, disk)
    yield from other_media(config, lambda chosen: harness(chosen, inputs), script, random.randrange(1_000_000))


def check_table(
    config: TableConfig,
    script: Sequence[Any],
    expected: Sequence[Row],
    *,
    keys: Sequence[int] | None = None,
    inputs: int = 1,
    disk: bool = False,
    view: Callable[[Row], Row] = lambda row: row,
) -> None:
    """In all variants the changes add up to these rows.

    :param keys: the consumer does without old rows, and knows rows by these columns.
    """
    for name, outcome in on_all_media(config, script, inputs, disk):
        changes = changes_of(outcome.values)
        found = table_of(changes) if keys is None else upserted(changes, keys)
        wanted = Counter(map(view, expected))
        seen: Table = Counter()
        for row, count in found.items():
            seen[view(row)] += count
        assert seen == wanted, f"variant {name!r}: {seen} instead of {wanted}"


def run(config: TableConfig, script: Sequence[Any], inputs: int = 1) -> list[Change]:
    """The changes of one run with as few batches as can be."""
    return changes_of(run_script(lambda: harness(config, inputs), script).values)
