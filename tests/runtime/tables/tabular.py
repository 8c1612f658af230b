"""Table operators in the harness: elements are (kind, value, value, ...), one a row, in and out.

A chunk of elements reaches the operator as one batch, so that the variants cut batches as they cut chunks.
"""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import cloudpickle
import numpy as np
from tests.runtime.tables.media import other_media

from millrace.common.types import RowKind
from millrace.relational.nodes import Field, Schema
from millrace.relational.rex import Call, Ref, Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import BooleanType, DataType
from millrace.relational.values import to_arrow
from millrace.runtime.bases.operator import Operator
from millrace.runtime.elements import Chunk
from millrace.runtime.tables.base import TableConfig
from millrace.testing import OperatorHarness, Record, check_variants
from millrace.testing.variants import _variants

KINDS = {str(kind): kind.value for kind in RowKind}
TEXTS = {kind.value: str(kind) for kind in RowKind}

Change = tuple[Any, ...]
"""(kind, value, value, ...)"""


def schema(*types: DataType, times: dict[int, str] | None = None) -> Schema:
    return tuple(Field(f"f{index}", each, (times or {}).get(index)) for index, each in enumerate(types))


def rows_of(changes: Sequence[Change], columns: Schema) -> Rows:
    values = list(zip(*(change[1:] for change in changes)))
    arrays = [to_arrow(list(each), column.type) for each, column in zip(values, columns)]
    kinds = np.array([KINDS[change[0]] for change in changes], np.uint8)
    return Rows(record_batch(arrays, len(changes)), kinds if kinds.any() else None)


def changes_of(rows: Rows) -> list[Change]:
    values = zip(*(column.to_pylist() for column in rows.columns)) if rows.columns else [()] * len(rows)
    return [(TEXTS[kind], *each) for kind, each in zip(rows.kind_values().tolist(), values)]


class _Flat:
    """An output that takes batches apart."""

    def __init__(self, output: Any) -> None:
        self._output = output

    def emit(self, chunk: Chunk) -> None:
        self._output.emit(Chunk([change for rows in chunk.values for change in changes_of(rows)]))

    def mark(self, mark: Any) -> None:
        self._output.mark(mark)


def harness(config: TableConfig, *inputs: Schema, own: bool = False, **settings: Any) -> OperatorHarness:
    """A harness round the operator of the configuration; ``inputs`` are the columns of its inputs.

    :param own: every operator has a copy of the configuration, and so of the user's functions, as in a job.
    """
    payload = cloudpickle.dumps(config)

    def make() -> Operator:
        mine = pickle.loads(payload) if own else config
        kind: Any = type(mine.operator())

        class Flat(kind):  # type: ignore[misc]
            def setup(self, context: Any, output: Any) -> None:
                super().setup(context, _Flat(output))

            def process(self, chunk: Chunk, input: int) -> None:
                super().process(Chunk([rows_of(chunk.values, inputs[input])]), input)

        operator: Operator = Flat(mine)
        return operator

    return OperatorHarness(make, inputs=len(inputs), **settings)


def check(config: TableConfig, inputs: Sequence[Schema], script: Sequence[Any], **settings: Any) -> list[Change]:
    """Run the script in all variants; the changes that came out. Their order must be the same in all, unless
    ``ordered=False``."""
    outcome = check_variants(lambda: harness(config, *inputs, own=True), script, **settings)
    return [item.value for item in outcome.items if isinstance(item, Record)]


def check_table(config: TableConfig, inputs: Sequence[Schema], script: Sequence[Any]) -> Counter[tuple[Any, ...]]:
    """The table that the changes make, which is the same in all variants, though they may differ: for operators that
    emit what a batch changes as a whole."""
    found: Counter[tuple[Any, ...]] | None = None
    seed = random.randrange(1_000_000)
    in_memory = ((name, run(lambda: harness(config, *inputs, own=True), script)) for name, run in _variants(seed, 1))
    others = other_media(config, lambda chosen: harness(chosen, *inputs, own=True), script, seed)
    for name, outcome in chain(in_memory, others):
        table = table_of(item.value for item in outcome.items if isinstance(item, Record))
        assert found is None or table == found, f"variant {name!r}: {table}, not {found}"
        found = table
    assert found is not None
    return found


def table_of(changes: Iterable[Change]) -> Counter[tuple[Any, ...]]:
    """The table that the changes make: a multiset of rows. No row may be taken back that is not there."""
    table: Counter[tuple[Any, ...]] = Counter()
    for kind, *values in changes:
        row = tuple(values)
        if kind in ("+I", "+U"):
            table[row] += 1
        else:
            assert table[row] > 0, f"{row} is taken back, but is not there"
            table[row] -= 1
    return +table


def equal(left: Ref, right: Ref) -> Rex:
    return Call(BooleanType(), "=", (left, right))


def less(left: Rex, right: Rex) -> Rex:
    return Call(BooleanType(), "<", (left, right))


def both(*parts: Rex) -> Rex:
    return Call(BooleanType(), "AND", parts)
