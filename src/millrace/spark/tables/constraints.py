"""What a table demands of the rows that batch mode writes into it: NOT NULL and lengths, as Spark SQL.

What is demanded of values inside ROW, ARRAY and MAP is checked in Python, as in streaming mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from millrace.relational.casting import is_text
from millrace.relational.nodes import Field, Schema
from millrace.relational.rows import Rows, record_batch
from millrace.runtime.tables import constraints
from millrace.runtime.tables.constraints import EnforceConstraints, length_problem, null_problem
from millrace.runtime.tables.demands import is_fixed, is_sized
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import types_of
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.texts.types import as_internal, outgoing, spark_schema


@dataclass(frozen=True)
class EnforceTask:
    """Checks the rows of a partition, down to the values inside of values."""

    config: EnforceConstraints

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kinds = types_of(self.config.columns)
        for batch in batches:
            cells = [as_internal(column, kind) for column, kind in zip(batch.columns, kinds)]
            rows = constraints.enforced(Rows(record_batch(cells, batch.num_rows)), self.config)
            yield outgoing(record_batch(rows.columns, len(rows)))


def enforced(part: Part, columns: Schema, context: Context) -> Part:
    """Rows with the columns of a table, as the table has them.

    :param columns: as the table declares them; none if it demands nothing.
    """
    config = EnforceConstraints.of(columns, context.surroundings.configuration)
    if not config.needed:
        return part
    if config.within:
        ship = partial(context.ship, what="what a table demands of its rows")
        return part.in_python(EnforceTask(config), spark_schema(types_of(columns)), ship)
    places = {f"c{index}": column for index, column in enumerate(columns)}
    required = [place for place, column in places.items() if not column.type.is_nullable]
    if config.not_null == "DROP" and required:
        part = part.where([f"{place} IS NOT NULL" for place in required])
    texts = [_text(place, column, config) for place, column in places.items()]
    return part.select(numbered(texts))


def _text(place: str, column: Field, config: EnforceConstraints) -> str:
    text = place
    if config.length != "IGNORE" and is_sized(column.type):
        text = _sized(place, column, config.length)
    if config.not_null == "DROP" or column.type.is_nullable:
        return text
    return f"CASE WHEN {place} IS NULL THEN raise_error({_quoted(null_problem(column.name))}) ELSE {text} END"


def _sized(place: str, column: Field, mode: str) -> str:
    length: int = column.type.length  # type: ignore[attr-defined]
    text, fixed = is_text(column.type), is_fixed(column.type)
    if mode == "TRIM_PAD":
        cut = f"substring({place}, 1, {length})"
        filling = "' '" if text else "X'00'"
        return f"rpad({cut}, {length}, {filling})" if fixed else cut
    size = f"{'char_length' if text else 'octet_length'}({place})"
    shown = f"'\\'', {place}, '\\''" if text else f"'X\\'', hex({place}), '\\''"
    before, after = length_problem(column.name, column.type, "\0").split("\0")
    message = f"concat({_quoted(before)}, {shown}, {_quoted(after)})"
    return f"CASE WHEN {size} {'<>' if fixed else '>'} {length} THEN raise_error({message}) ELSE {place} END"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
