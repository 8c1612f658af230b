"""Rows of one schema in the columns of another, by names."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from millrace.cdc.operators.elements import Batch
from millrace.connectors.cdc.schema import TableSchema
from millrace.relational.arrow import arrow_type
from millrace.relational.casting import explicit_cast
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings
from millrace.relational.rex import Literal, Ref, Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import DataType

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Coercion:
    """How rows of a schema become rows of another one. Columns that are missing are NULL."""

    schema: TableSchema
    columns: tuple[Rex, ...]

    def of(self, batch: Batch, around: Surroundings) -> Batch:
        evaluator = Evaluator(batch.rows.columns, around)
        made = [evaluator.column(each) for each in self.columns]
        exact = [
            column if column.type == arrow_type(kind) else column.cast(arrow_type(kind))
            for column, kind in zip(made, self.schema.types)
        ]
        return batch.with_rows(Rows(record_batch(exact, len(batch.rows)), batch.rows.kinds), self.schema)


def coercion(table: object, found: TableSchema, wanted: TableSchema, tolerant: bool) -> Coercion | None:
    """None: the rows are as they should be.

    :param tolerant: whether values that do not fit become NULL. Otherwise they fail the job.
    :raises ValueError: a column cannot be cast to the type that it has in the sink.
    """
    if found.names == wanted.names and all(a.is_same(b) for a, b in zip(found.types, wanted.types)):
        return None
    places = {name: place for place, name in enumerate(found.names)}
    columns: list[Rex] = []
    for name, kind in zip(wanted.names, wanted.types):
        place = places.get(name)
        if place is None:
            columns.append(Literal(kind.nullable(), None))
        else:
            columns.append(_cast(table, name, Ref(found.types[place], place), kind, tolerant))
    return Coercion(wanted, tuple(columns))


def _cast(table: object, name: str, column: Ref, wanted: DataType, tolerant: bool) -> Rex:
    if column.type.is_same(wanted):
        return column
    try:
        return explicit_cast(column, wanted, attempt=tolerant)
    except SignatureError as error:
        if not tolerant:
            raise ValueError(f"table {table}, column {name}: {error}") from None
        logger.warning("table %s, column %s is NULL from now on: %s", table, name, error)
        return Literal(wanted.nullable(), None)
