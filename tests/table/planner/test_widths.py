"""The parallelism of operators: changes of a row must not overtake each other on their way."""

from __future__ import annotations

import pytest

from millrace.common import Row, RowKind, Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of

ROWS = "(SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (n, s))"
TOTAL = f"SELECT SUM(n) AS x FROM {ROWS} AS t"


def widths(environment: TableEnvironment, sql: str) -> dict[str, int | None]:
    """Operator -> the parallelism that it must have, None for any."""
    program = environment._session.streams._program.branch()
    add_to_program([environment.sql_query(sql)._plan], program, options_of(environment._session))
    return {node.name: 1 if node.non_parallel else node.parallelism for node in program.added()}


@pytest.mark.parametrize(
    ("sql", "single"),
    [
        (f"SELECT x + 1 AS y FROM ({TOTAL}) AS u", {"Calc", "Collect"}),
        (f"SELECT x + 1 AS y FROM ({TOTAL} UNION ALL SELECT n FROM {ROWS} AS w) AS u", {"Calc", "Collect"}),
        (f"SELECT n + 1 AS y FROM (SELECT * FROM {ROWS} AS t ORDER BY n) AS u", {"Calc", "Collect"}),
        (f"SELECT x, COUNT(*) AS c FROM ({TOTAL}) AS u GROUP BY x", {"LocalGroupAggregate(x)"}),
        (f"SELECT s, SUM(n) + 1 AS x FROM {ROWS} AS t GROUP BY s", set()),
    ],
)
def test_what_reads_a_single_operator_is_single(t_env: TableEnvironment, sql: str, single: set[str]) -> None:
    found = widths(t_env, sql)
    one = {name for name, width in found.items() if width == 1}
    assert one >= single
    if not single:
        assert not one


def test_a_stream_of_changes_keeps_its_order() -> None:
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(3)
    tables = StreamTableEnvironment.create(streams)
    rows = [Row.of_kind(RowKind.INSERT, 1), Row.of_kind(RowKind.DELETE, 1)]
    changes = streams.from_collection(rows, Types.ROW_NAMED(["n"], [Types.INT()]))
    tables.create_temporary_view("changing", tables.from_changelog_stream(changes))
    assert set(widths(tables, "SELECT n + 1 AS m FROM changing").values()) == {1}
    tables.create_temporary_view("growing", tables.from_data_stream(changes))
    assert widths(tables, "SELECT n + 1 AS m FROM growing")["Calc"] is None
