"""Runs a random query in both modes: as a stream without Spark, in epochs that are drawn, and on Spark."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from tests.random.queries import program
from tests.table.programs.program import Program
from tests.table.programs.running import announced, bound, exact, final_table, streamed, to_the_last_bit
from tests.table.programs.tables import at_rest

from millrace.relational.values import to_python
from millrace.spark.tables.execute import collect
from millrace.spark.tables.steps.context import Context

Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Compared:
    """A query and what the modes gave: rows, or the error that ended it."""

    seed: str
    program: Program
    streaming: Rows | Exception
    batch: Rows | Exception

    @property
    def differs(self) -> bool:
        """Whether the rows differ. An error is never right, even in both modes: queries are valid by construction."""
        if isinstance(self.streaming, Exception) or isinstance(self.batch, Exception):
            return True
        return self.streaming != self.batch

    def __str__(self) -> str:
        tables = "\n".join(f"  {each.name} ({each.columns})\n    {list(each.rows)}" for each in self.program.tables)
        zone = self.program.settings["table.local-time-zone"]
        return (
            f"{self.seed}, {zone}\n{self.program.sql}\n{tables}\n"
            f"streaming: {_shown(self.streaming, self.batch)}\nbatch:     {_shown(self.batch, self.streaming)}"
        )


def _shown(one: Rows | Exception, other: Rows | Exception) -> str:
    if isinstance(one, Exception):
        return f"{type(one).__name__}: {str(one)[:600]}"
    return str(list(one.elements()) if isinstance(other, Exception) else list((one - other).elements()))


def compare(seed: str, contexts: dict[str, Context]) -> Compared:
    """Draw a query and run it in both modes.

    :param contexts: what batch queries run in, by time zone.
    """
    made = program(seed)
    return Compared(seed, made, _streamed(made, random.Random(seed)), _batched(made, contexts))


def _streamed(made: Program, draw: random.Random) -> Rows | Exception:
    try:
        planned = bound(made)
        epochs = streamed(planned, draw, draw.randint(1, 3), to_the_last_bit)
        return _whole(final_table(epochs, announced(planned)))
    except Exception as error:
        return error


def _batched(made: Program, contexts: dict[str, Context]) -> Rows | Exception:
    try:
        plan = at_rest(bound(made, streaming=False).plan)
        table = collect(plan, contexts[made.settings["table.local-time-zone"]])
        columns = [_values(column, each.type) for column, each in zip(table.columns, plan.schema)]
        return _whole(Counter(map(to_the_last_bit, zip(*columns))))
    except Exception as error:
        return error


def _values(column: pa.ChunkedArray, kind: Any) -> list[Any]:
    chunk = column.combine_chunks()
    return to_python(chunk if isinstance(chunk, pa.Array) else pa.concat_arrays(chunk.chunks), kind)


def _whole(rows: Rows) -> Rows:
    """Without what a mode may leave out, counts of none, and what it may add up otherwise: last digits of DOUBLEs."""
    rounded: Rows = Counter()
    for row, count in rows.items():
        rounded[exact(row)] += count
    return +rounded
