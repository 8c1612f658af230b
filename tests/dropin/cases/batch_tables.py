"""Tables over an environment of streams that is in batch mode."""

from __future__ import annotations

from typing import Any

from pyflink.common import Row, RowKind
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment
from pyflink.table.expressions import col


def _environment() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    return StreamTableEnvironment.create(env)


def _rows(table: Any) -> list[Any]:
    with table.execute().collect() as found:
        return list(found)


def tables_have_the_mode_of_the_environment() -> None:
    """An aggregate gives its result only, and a sort by any column is allowed."""
    table = _environment().from_elements([(1, "a"), (2, "b"), (3, "a")], ["a", "b"])
    found = _rows(table.group_by(table.b).select(table.b, table.a.sum.alias("total")).order_by(col("total").desc))
    assert found == [Row("a", 4), Row("b", 2)]
    assert {each.get_row_kind() for each in found} == {RowKind.INSERT}
