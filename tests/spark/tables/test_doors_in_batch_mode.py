"""Values of one type are the same through every door in batch mode, too: each of them gives what the type says, and
what prints alike is one group whichever door it came through."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.connectors.tables.message_tables import MessageTables
from tests.spark.tables.plans import rows_of
from tests.table import test_doors, test_doors_of_formats, test_doors_of_types
from tests.table.test_doors_of_formats import NESTED, PARTS, SORTS, Room, Sort, printed, several

from millrace.connectors.tables.values_table import clear_values
from millrace.spark.tables.execute import batch_context, collect
from millrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

STREAMING_ONLY = frozenset({"aggregate_over", "debezium", "canal", "maxwell", "ogg", "changelog"})
"""doors that batch mode has not: a frame over times of arrival, and files that say changes"""


class BatchTables(MessageTables):
    """Tables of an environment in batch mode, whose queries run on Spark."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__()
        self._spark = spark
        self.environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())

    def found(self, sql: str) -> list[tuple[Any, ...]]:
        plan = self.environment.sql_query(sql)._plan
        context = batch_context(self._spark, configuration=self.environment.get_config().to_map())
        return rows_of(collect(plan, context), plan)

    def check(self, queries: Mapping[str, str], wanted: Counter[Any]) -> None:
        """Each query has these values in its column ``a``, and all together one group of each."""
        union = " UNION ALL ".join(f"SELECT '{name}' AS door, a FROM ({query})" for name, query in queries.items())
        grouped = f"SELECT door, a, COUNT(*), GROUPING(door) FROM ({union}) GROUP BY GROUPING SETS ((door, a), (a))"
        of_doors: dict[str, dict[Any, int]] = {name: {} for name in queries}
        of_all: dict[Any, int] = {}
        for door, value, count, is_all in self.found(grouped):
            groups = of_all if is_all else of_doors[door.strip()]
            assert printed(value) not in groups, f"two groups of {value!r}"
            groups[printed(value)] = count
        assert of_doors == {name: dict(wanted) for name in queries}
        assert of_all == {value: count * len(queries) for value, count in wanted.items()}


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[BatchTables]:
    yield BatchTables(spark)
    clear_values()


once = settings(
    max_examples=1, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.draw(6)
@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.name)
@once
@given(data=st.data(), chosen=st.integers(0, 5))
def test_formats_and_databases(
    tables: BatchTables, tmp_path_factory: pytest.TempPathFactory, sort: Sort, data: st.DataObject, chosen: int
) -> None:
    values = data.draw(st.lists(st.none() | sort.raw, min_size=6, max_size=9).filter(several))
    room = Room(tables, tmp_path_factory.mktemp("doors"), sort, values, chosen)
    makes = {name: make for name, make in test_doors_of_formats.DOORS.items() if name not in STREAMING_ONLY}
    queries = {name: query for name, make in makes.items() if (query := make(room)) is not None}
    assert len(queries) > 6
    tables.check(queries, Counter(printed(None if each is None else sort.wanted(each)) for each in values))


@once
@given(values=st.lists(st.none() | PARTS, min_size=4, max_size=6).filter(several))
def test_values_within_others(tables: BatchTables, tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    sort = Sort(NESTED, st.nothing(), lambda value: value, lambda value: [str(value)])
    room = Room(tables, tmp_path_factory.mktemp("nested"), sort, values, 0)
    wanted = Counter(map(test_doors_of_formats._nested, values))
    parts = "a.t, a.f, a.d, a.l, a.m"
    formats = test_doors_of_formats._nested_doors(room)
    queries = {name: query for name, query in formats if name in ("values", "json", "parquet", "orc", "avro")}
    union = " UNION ALL ".join(f"SELECT '{name}' AS door, {parts} FROM ({query})" for name, query in queries.items())
    found: dict[str, Counter[Any]] = {name: Counter() for name in queries}
    for door, *row in tables.found(union):
        found[door.strip()][test_doors_of_formats._hashable(row)] += 1
    assert found == dict.fromkeys(queries, wanted)


@pytest.mark.draw(4)
@pytest.mark.parametrize("name", test_doors_of_types.TYPES)
def test_programs_and_functions(tables: BatchTables, name: str) -> None:
    kind, values = test_doors_of_types.TYPES[name]
    queries = test_doors_of_types.doors(tables.environment, name, kind, values)
    tables.check(queries, Counter(printed(test_doors_of_types.wanted(name, each)) for each in values))


@pytest.mark.draw(4)
@pytest.mark.parametrize("precision", range(7))
def test_times(tables: BatchTables, tmp_path_factory: pytest.TempPathFactory, precision: int) -> None:
    values = [
        None, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1969, 12, 31, 23, 59, 59, 999_990),
        dt.datetime(2024, 2, 29, 1, 2, 3, 123_456), dt.datetime(2024, 2, 29, 1, 2, 3, 123_499),
        dt.datetime(2024, 2, 29),
    ]  # fmt: skip
    makes = {name: make for name, make in test_doors.DOORS.items() if name not in STREAMING_ONLY}
    queries = {name: make(tables, tmp_path_factory.mktemp("door"), values, precision) for name, make in makes.items()}
    tables.check(queries, Counter(test_doors._floor(each, precision) for each in values))
