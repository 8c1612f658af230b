"""A row with the rows that a table function makes of it: LATERAL TABLE and UNNEST."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import Row
from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.values import to_arrow, to_python
from millrace.runtime.operators.base import failing
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.join_config import holds
from millrace.runtime.tables.keys import Ids
from millrace.runtime.tables.matching import side_by_side, with_missing
from millrace.runtime.tables.unnest import unnest
from millrace.runtime.tables.user_functions import UserFunctions

Made = tuple[Ids, list[pa.Array]]
"""(the input row of each row that was made, in order; the columns)"""


@dataclass(frozen=True, kw_only=True)
class Correlate(TableConfig):
    """A ``Correlate`` node."""

    input: Schema
    function: str
    args: tuple[Rex, ...]
    produced: Schema
    left: bool = False
    condition: Rex | None = None
    """over input and produced columns; with ``left`` rows for which it never holds stay, with NULLs"""
    udf: Any = None
    ordinality: bool = False
    """UNNEST ... WITH ORDINALITY"""

    def operator(self) -> CorrelateOperator:
        return CorrelateOperator(self)


class CorrelateOperator(TableOperator[Correlate]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        udf = self.config.udf
        if udf is None and self.config.function != "UNNEST":
            raise NotImplementedError(f"table function {self.config.function} is not built in: make one with udtf()")
        self._functions = UserFunctions(self, [] if udf is None else [udf])

    def open(self) -> None:
        self._functions.open()

    def close(self) -> None:
        self._functions.close()

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        evaluator = self.evaluator(rows.columns, len(rows))
        args = [evaluator.column(arg) for arg in config.args]
        at, made = self._call(args, len(rows)) if config.udf is not None else self._unnest(args)
        to = np.arange(len(at))
        if config.condition is not None and len(at):
            matches = holds(self, config.condition, rows.columns, made, at, to)
            at, to = at[matches], to[matches]
        if config.left:
            at, to = with_missing(at, to, len(rows))
        kinds = None if rows.kinds is None else rows.kinds[at]
        self.emit_columns(side_by_side(rows.columns, made, at, to), len(at), kinds)

    def _unnest(self, args: list[pa.Array]) -> Made:
        return unnest(args[0], self.config.args[0].type, self.config.ordinality)

    def _call(self, args: list[pa.Array], length: int) -> Made:
        function = self._functions.of(self.config.udf)
        columns = [to_python(arg, rex.type) for arg, rex in zip(args, self.config.args)]
        inputs = list(zip(*columns)) if columns else [()] * length
        width = len(self.config.produced)
        owners: list[int] = []
        made: list[tuple[Any, ...]] = []
        remaining = iter(inputs)
        try:
            for number, values in enumerate(remaining):
                for result in _results(function.eval(*values)):
                    row = _row(result)
                    if len(row) != width:
                        raise ValueError(f"the function makes rows of {width} columns, but gave {result!r}")
                    owners.append(number)
                    made.append(row)
        except Exception as error:
            raise self.context.error(error, failing(inputs, remaining), f" in {function.name}()") from error
        cells = list(zip(*made)) if made else [()] * width
        types = [column.type for column in self.config.produced]
        return np.array(owners, np.int64), [to_arrow(list(values), each) for values, each in zip(cells, types)]


def _results(results: Any) -> Any:
    """The rows that a call gave: as in PyFlink None is no row, and what is no list, range or iterator is one row."""
    if results is None:
        return ()
    return results if isinstance(results, (list, range, Iterator)) else (results,)


def _row(result: Any) -> tuple[Any, ...]:
    if isinstance(result, tuple):
        return result
    return tuple(result) if isinstance(result, Row) else (result,)
