"""Joins each row with the rows that a table function makes of it: LATERAL TABLE and UNNEST."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.types import ArrayType, DataType, MapType, MultisetType, RowType
from millrace.runtime.functions.evaluator import FunctionEvaluator, made_rows
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.columns.keys import Ids, places_within
from millrace.runtime.tables.columns.matching import side_by_side, with_missing
from millrace.runtime.tables.joins.join_config import holds


@dataclass(frozen=True, kw_only=True)
class Correlate(TableConfig):
    """The description of a ``Correlate`` node."""

    input: Schema
    function: str
    args: tuple[Rex, ...]
    produced: Schema
    left: bool = False
    condition: Rex | None = None
    """a condition over input and produced columns; with ``left`` rows for which it never holds remain, with NULLs"""
    udf: Any = None
    ordinality: bool = False
    """whether there is an index column: UNNEST ... WITH ORDINALITY"""

    def wrappers(self) -> Iterator[Any]:
        yield from super().wrappers()
        if self.udf is not None:
            yield self.udf

    def operator(self) -> CorrelateOperator:
        return CorrelateOperator(self)


class CorrelateOperator(TableOperator[Correlate]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        udf = self.config.udf
        if udf is None and self.config.function != "UNNEST":
            raise NotImplementedError(f"table function {self.config.function} is not built in: make one with udtf()")

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        given = rows.columns[: len(config.input)]  # rows without columns have one to be counted by
        evaluator = self.evaluator(rows.columns, len(rows))
        if config.udf is not None:
            assert isinstance(evaluator, FunctionEvaluator)
            types = [column.type for column in config.produced]
            at, made = made_rows(self.functions, config.udf, evaluator.arguments(config.args), types)
        else:
            at, made = unnest(evaluator.column(config.args[0]), config.args[0].type, config.ordinality)
        to = np.arange(len(at))
        if config.condition is not None and len(at):
            matches = holds(self, config.condition, given, made, at, to)
            at, to = at[matches], to[matches]
        if config.left:
            at, to = with_missing(at, to, len(rows))
        kinds = None if rows.kinds is None else rows.kinds[at]
        self.emit_columns(side_by_side(given, made, at, to), len(at), kinds)


def unnest(column: pa.Array, data_type: DataType, ordinality: bool) -> tuple[Ids, list[pa.Array]]:
    """UNNEST on columns: (the row of each element, the columns of the elements). A NULL collection has no elements.

    :param ordinality: add a last column with the index of the element in its collection, from 1.
    :raises TypeError: the type is no collection.
    """
    if not isinstance(data_type, (ArrayType, MapType, MultisetType)):
        raise TypeError(f"UNNEST takes an ARRAY, MAP or MULTISET, not {data_type}")
    if pa.types.is_map(column.type):
        entry = pa.struct([pa.field("key", column.type.key_type, False), pa.field("value", column.type.item_type)])
        column = column.cast(pa.list_(entry))
    parents = pc.list_parent_indices(column).to_numpy().astype(np.int64)
    elements = pc.list_flatten(column)
    if isinstance(data_type, MultisetType):
        entries, counts = elements.flatten()
        repeated = np.repeat(np.arange(len(entries)), counts.to_numpy())
        parents, elements = parents[repeated], entries.take(pa.array(repeated))
    columns = elements.flatten() if _has_columns(data_type) else [elements]
    if ordinality:
        columns.append(pa.array(places_within(parents) + 1, pa.int32()))
    return parents, columns


def _has_columns(data_type: DataType) -> bool:
    """Whether an element has several columns: a row, or key and value of a map."""
    return isinstance(data_type, MapType) or isinstance(getattr(data_type, "element_type", None), RowType)
