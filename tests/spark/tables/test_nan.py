"""NaN, -0.0 and 0.0 in both modes: as keys and in an order NaN is equal to NaN and the largest number, for the signs of
comparison and for functions it is unlike everything, as in Flink, whose code compares Java's primitive numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.plans import rows_of
from tests.table.planner.programs import final
from tests.table.programs.running import changes_in

from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.spark.tables.execute import batch_context, collect
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS: list[tuple[int, float | None, float | None]] = [
    (1, math.nan, 1.5),
    (2, -math.nan, math.nan),
    (3, 0.0, -0.0),
    (4, -0.0, 0.0),
    (5, math.inf, math.nan),
    (6, None, 2.5),
    (7, 1.5, -math.inf),
    (8, math.nan, None),
]
TYPES = DataTypes.ROW(
    [
        DataTypes.FIELD("id", DataTypes.INT()),
        DataTypes.FIELD("x", DataTypes.DOUBLE()),
        DataTypes.FIELD("f", DataTypes.FLOAT()),
    ]
)


# -- the oracle: plain Python over keys that say what is equal --------------------------------------------------------


def key(value: Any) -> Any:
    return str(value) if value != value else value + 0.0 if isinstance(value, float) else value


def rank(value: float) -> tuple[bool, float]:
    """Ascending, NaN last."""
    return (True, 0.0) if value != value else (False, value)


XS = [x for _, x, _ in ROWS if x is not None]
FS = [f for _, _, f in ROWS if f is not None]


def counted(values: list[Any]) -> list[tuple[Any, ...]]:
    return [(value, count) for value, count in Counter(map(key, values)).items()]


def joined(on: Callable[[Any, Any], bool]) -> list[tuple[int, int]]:
    return [(one[0], other[0]) for one in ROWS for other in ROWS if None not in (one[1], other[2]) and on(one, other)]


BY_SIZE = sorted((row for row in ROWS if row[1] is not None), key=lambda row: (rank(row[1]), -row[0]), reverse=True)
CASES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT x, COUNT(*) FROM t GROUP BY x": counted([x for _, x, _ in ROWS]),
    "SELECT f, COUNT(*) FROM t GROUP BY f": counted([f for _, _, f in ROWS]),
    "SELECT r, COUNT(*) FROM (SELECT ROW(x) AS r FROM t WHERE x IS NOT NULL) GROUP BY r": [
        ((value,), count) for value, count in counted(XS)
    ],
    "SELECT DISTINCT x FROM t": [(value,) for value, _ in counted([x for _, x, _ in ROWS])],
    "SELECT COUNT(DISTINCT x), COUNT(DISTINCT f) FROM t": [(len(counted(XS)), len(counted(FS)))],
    "SELECT MIN(x), MAX(x), MIN(f), MAX(f) FROM t": [
        (min(XS, key=rank), max(XS, key=rank), min(FS, key=rank), max(FS, key=rank))
    ],
    "SELECT MAX(x), MIN(x) FROM t WHERE id IN (1, 2)": [(math.nan, math.nan)],
    "SELECT a.id, b.id FROM t a JOIN t b ON a.x = b.f": joined(lambda one, other: bool(key(one[1]) == key(other[2]))),
    "SELECT a.id, b.id FROM t a JOIN t b ON a.x > b.f": joined(lambda one, other: bool(one[1] > other[2])),
    "SELECT id FROM t WHERE x IN (SELECT f FROM t)": [
        (row[0],) for row in ROWS if row[1] is not None and key(row[1]) in set(map(key, FS))
    ],
    "SELECT x FROM t INTERSECT SELECT CAST(f AS DOUBLE) FROM t": [
        (value,) for value in {key(x) for _, x, _ in ROWS} & {key(f) for _, _, f in ROWS}
    ],
    "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY x DESC, id) AS n FROM t WHERE x IS NOT NULL) WHERE n <= 4": [
        (row[0],) for row in BY_SIZE[:4]
    ],
    "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY id) AS n FROM t) WHERE n = 1": [
        (next(row[0] for row in ROWS if key(row[1]) == value),) for value, _ in counted([x for _, x, _ in ROWS])
    ],
    "SELECT id FROM t WHERE x = CAST('NaN' AS DOUBLE) OR f IN (CAST('NaN' AS FLOAT), 9)": [],
    "SELECT id FROM t WHERE MAP[COALESCE(x, 0e0), id][CAST('NaN' AS DOUBLE)] = id": [],
    "SELECT ARRAY_DISTINCT(ARRAY[x, x, -0e0, 0e0]) FROM t WHERE id = 1": [((math.nan, math.nan, 0.0),)],
    "SELECT ARRAY_CONTAINS(ARRAY[x, 1], x), ARRAY_POSITION(ARRAY[1, x], x) FROM t WHERE id = 1": [(False, 0)],
    "SELECT ARRAY_MAX(ARRAY[1, x]), ARRAY_MIN(ARRAY[1, x]), ARRAY_SORT(ARRAY[2, x, 1]) FROM t WHERE id = 1": [
        (math.nan, 1.0, (1.0, 2.0, math.nan))
    ],
    "SELECT GREATEST(x, 1e0), LEAST(x, 1e0) FROM t WHERE id = 1": [(math.nan, 1.0)],
}


def planned(sql: str, settings: EnvironmentSettings) -> tuple[TableEnvironment, Any]:
    environment = TableEnvironment.create(settings)
    environment.create_temporary_view("t", environment.from_elements(ROWS, TYPES))
    return environment, environment.sql_query(sql)._plan


def shown(rows: Any) -> list[str]:
    return sorted(map(repr, map(_one_form, rows)))


def _one_form(row: Any) -> tuple[Any, ...]:
    """A row whose values can be counted; rows in it are tuples."""
    return tuple(_one_form(value) if isinstance(value, (tuple, list, Row)) else key(value) for value in row)


@pytest.mark.parametrize("sql", CASES)
def test_streaming(sql: str) -> None:
    environment, plan = planned(sql, EnvironmentSettings.in_streaming_mode())
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(2)
    session = environment._session
    add_to_program([optimise_streaming(plan, surroundings_of(session))], streams._program, options_of(session))
    found = final(changes_in(run_locally(streams).collected, plan.schema, _one_form))
    assert shown(found.elements()) == shown(CASES[sql])


@pytest.mark.spark
@pytest.mark.parametrize("sql", CASES)
def test_batch(sql: str, spark: SparkSession) -> None:
    environment, plan = planned(sql, EnvironmentSettings.in_batch_mode())
    context = batch_context(spark, configuration=environment.get_config().to_map())
    assert shown(rows_of(collect(plan, context), plan)) == shown(CASES[sql])
