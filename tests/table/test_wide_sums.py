"""Sums of DECIMALs that need more digits than a DECIMAL has: NULL as long as they do, also over changing rows."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Context, Decimal

import pytest
from tests.table.planner.programs import final
from tests.table.programs.running import changes_in

from millrace.common import Configuration, RowKind, Types
from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table import StreamTableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

EXACT = Context(prec=60)
MOST = 10**38


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_long_decimals(seed: int) -> None:
    """Rows come and go, so a sum may have too many digits for some time."""
    chance = random.Random(seed)
    scale = chance.choice([0, 3, 38])
    there: list[tuple[str, Decimal]] = []
    changes: list[Row] = []
    for _ in range(60):
        if there and chance.random() < 0.4:
            key, number = there.pop(chance.randrange(len(there)))
            changes.append(Row.of_kind(RowKind.DELETE, key, f"{number:f}"))
            continue
        digits = chance.randrange(1 - MOST, MOST) if chance.random() < 0.5 else MOST - chance.randrange(1, 5)
        there.append((f"k{chance.randrange(3)}", Decimal(digits).scaleb(-scale, EXACT)))
        changes.append(Row.of_kind(RowKind.INSERT, there[-1][0], f"{there[-1][1]:f}"))
    wanted: dict[str, Decimal] = {}
    for k, number in there:
        wanted[k] = EXACT.add(wanted.get(k, Decimal(0)), number)
    expected = [(k, total if total.scaleb(scale, EXACT).copy_abs() < MOST else None) for k, total in wanted.items()]
    records = str(chance.choice([1, 7, 1000]))
    streams = StreamExecutionEnvironment(Configuration.from_dict({"millrace.epoch.max-records": records}))
    streams.set_parallelism(2)
    tables = StreamTableEnvironment.create(streams)
    stream = streams.from_collection(changes, Types.ROW_NAMED(["k", "d"], [Types.STRING(), Types.STRING()]))
    tables.create_temporary_view("t", tables.from_changelog_stream(stream))
    query = f"SELECT k, CAST(SUM(CAST(d AS DECIMAL(38, {scale}))) AS STRING) FROM t GROUP BY k"
    plan = optimise_streaming(tables.sql_query(query)._plan, surroundings_of(tables._session))
    add_to_program([plan], streams._program, options_of(tables._session))
    found = final(changes_in(run_locally(streams).collected, plan.schema))
    assert {(k, None if text is None else Decimal(text)) for k, text in found} == set(expected)
    assert found == Counter(found.keys())


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT x FROM UNNEST(ARRAY[1, 2, 3]) AS t(x)", [(1,), (2,), (3,)]),
        ("SELECT y, x FROM UNNEST(ARRAY[ROW(1, 'a'), ROW(2, 'b')]) AS t(x, y)", [("a", 1), ("b", 2)]),
        ("SELECT x + 1, n FROM UNNEST(ARRAY[5, 6]) WITH ORDINALITY AS t(x, n)", [(6, 1), (7, 2)]),
        ("SELECT k, v FROM UNNEST(MAP['a', 1, 'b', 2]) AS t(k, v) WHERE v > 1", [("b", 2)]),
    ],
)
def test_unnest_without_another_table(query: str, rows: list[tuple[object, ...]]) -> None:
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(1)
    tables = StreamTableEnvironment.create(streams)
    plan = optimise_streaming(tables.sql_query(query)._plan, surroundings_of(tables._session))
    add_to_program([plan], streams._program, options_of(tables._session))
    assert final(changes_in(run_locally(streams).collected, plan.schema)) == Counter(rows)
