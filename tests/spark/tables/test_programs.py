"""The declared programs of tests/table/programs in batch mode: over what their tables have at the end.

Most are there for a job of several: their results are columns of one frame, each NULL in the rows of the others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType
from tests.table.programs.every import PROGRAMS
from tests.table.programs.program import BATCH, Program
from tests.table.programs.running import bound, comparable, expected
from tests.table.programs.tables import at_rest

from millrace.relational import nodes as n
from millrace.relational.values import to_python
from millrace.spark.tables.child_session import active
from millrace.spark.tables.execute import frame_of
from millrace.spark.tables.steps.computed import types_of
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.spark_types import as_internal

BATCHED = [program for program in PROGRAMS if program.runs_in(BATCH)]
ALONE = [program for program in BATCHED if program.ordered]
TOGETHER = [program for program in BATCHED if not program.ordered]
SIZE = 12
MARK = "program"
GROUPS = [TOGETHER[start : start + SIZE] for start in range(0, len(TOGETHER), SIZE)]


@pytest.mark.draw(6)
@pytest.mark.parametrize("programs", [[each] for each in ALONE] + GROUPS, ids=lambda group: f"{group[0]}-{group[-1]}")
def test_the_rows(programs: list[Program], context: Context) -> None:
    plans = [at_rest(bound(program, streaming=False).plan) for program in programs]
    found = dict(zip(map(str, programs), _rows_of_all(plans, context)))
    wanted = {program.name: expected(program) for program in programs}
    if not programs[0].ordered:
        assert {name: Counter(rows) for name, rows in found.items()} == {k: Counter(v) for k, v in wanted.items()}
    else:
        assert found == wanted


def _rows_of_all(plans: Sequence[n.Rel], context: Context) -> list[list[tuple[Any, ...]]]:
    frames = [_marked(frame_of(plan, context), place) for place, plan in enumerate(plans)]
    with active(context.session):
        table = reduce(_beside, frames).toArrow()
    return [_rows(table.filter(pc.field(MARK) == place), place, plan.schema) for place, plan in enumerate(plans)]


def _marked(frame: DataFrame, place: int) -> DataFrame:
    """The rows of one program: a column that says which, and its own columns, all of which may be NULL."""
    text = frame.schema.json().replace('"nullable":false', '"nullable":true')
    fields = StructType.fromJson(json.loads(text)).fields
    columns = [f.col(field.name).cast(field.dataType).alias(f"{field.name}_{place}") for field in fields]
    return frame.select(f.lit(place).alias(MARK), *columns)


def _beside(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionByName(right, allowMissingColumns=True)


def _rows(table: pa.Table, place: int, schema: n.Schema) -> list[tuple[Any, ...]]:
    columns = []
    for index, kind in enumerate(types_of(schema)):
        column = table.column(f"c{index}_{place}").combine_chunks()
        chunk = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
        columns.append(to_python(as_internal(chunk, kind), kind))
    return [comparable(row) for row in zip(*columns)]
