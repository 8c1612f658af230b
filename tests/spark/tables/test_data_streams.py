"""DataStreams as tables, and tables as DataStreams, in batch mode."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common.time import Instant
from millrace.common.typeinfo import Types
from millrace.common.types import Row, RowKind
from millrace.datastream import DataStream
from millrace.graph.program import GraphError
from millrace.table import EnvironmentSettings, Schema, StreamTableEnvironment
from millrace.table.expressions import col

ROWS = [(number, f"k{number % 3}" if number % 4 else None, number / 8) for number in range(40)]
TYPE = Types.ROW_NAMED(["n", "k", "x"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])


@pytest.fixture
def tables(environment: MakeEnvironment) -> StreamTableEnvironment:
    streams = environment(2, batch=True)
    return StreamTableEnvironment.create(streams, EnvironmentSettings.in_batch_mode())


def stream(tables: StreamTableEnvironment) -> DataStream:
    return tables._session.streams.from_collection([Row(*row) for row in ROWS], type_info=TYPE)


def sums() -> dict[str | None, int]:
    found: dict[str | None, int] = defaultdict(int)
    for number, key, _ in ROWS:
        found[key] += number
    return dict(found)


def rows_of(result: Any) -> list[tuple[Any, ...]]:
    with result.collect() as found:
        return [tuple(row) for row in found]


def test_a_query_over_a_stream(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("v", stream(tables))
    found = rows_of(tables.execute_sql("SELECT k, SUM(n) FROM v GROUP BY k ORDER BY SUM(n) DESC"))
    assert found == sorted(sums().items(), key=lambda pair: -pair[1])


def test_a_stream_runs_once_for_a_query_that_reads_it_twice(tables: StreamTableEnvironment, watch: Watch) -> None:
    tables.create_temporary_view("v", stream(tables).filter(lambda row: row[1] is not None))
    found = rows_of(tables.execute_sql("SELECT a.n, b.n FROM v a JOIN v b ON a.k = b.k AND a.n < b.n"))
    kept = [(number, key) for number, key, _ in ROWS if key is not None]
    assert Counter(found) == Counter((a, b) for a, k in kept for b, other in kept if k == other and a < b)
    assert sum(bool(result.reports) for result in watch.epochs) == 1


def test_a_stream_is_written_into_a_table(tables: StreamTableEnvironment, tmp_path: Any) -> None:
    tables.execute_sql(
        f"CREATE TABLE sink (n BIGINT, x DOUBLE) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/out', "
        "'format' = 'json')"
    )
    tables.from_data_stream(stream(tables)).select(col("n"), col("x")).execute_insert("sink").wait()
    assert sorted(rows_of(tables.execute_sql("SELECT n, x FROM sink"))) == [(n, x) for n, _, x in ROWS]


def test_timestamps_of_elements(tables: StreamTableEnvironment) -> None:
    at = Instant(1_700_000_000, 0)
    typed = Types.ROW_NAMED(["n", "at"], [Types.INT(), Types.INSTANT()])
    single = tables._session.streams.from_collection([Row(1, at)], type_info=typed)
    schema = Schema.new_builder().column("n", "INT").column("at", "TIMESTAMP_LTZ(3)").watermark("at", "at").build()
    tables.get_config().set_local_timezone("UTC")
    found = rows_of(tables.from_data_stream(single, schema).execute())
    assert found == [(1, datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.timezone.utc))]


def test_an_aggregate_as_a_stream(tables: StreamTableEnvironment, watch: Watch) -> None:
    tables.create_temporary_view("v", stream(tables))
    back = tables.to_data_stream(tables.sql_query("SELECT k, SUM(n) AS s FROM v GROUP BY k"))
    with back.map(lambda row: (row["k"], row["s"] * 10)).execute_and_collect() as found:
        assert dict(found) == {key: 10 * total for key, total in sums().items()}


def test_all_rows_of_a_changing_table_are_insertions(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("v", stream(tables))
    back = tables.to_changelog_stream(tables.sql_query("SELECT k, COUNT(*) FROM v GROUP BY k"))
    with back.map(lambda row: (row.get_row_kind(), row[1])).execute_and_collect() as found:
        counts = Counter(key for _, key, _ in ROWS)
        assert sorted(count for _, count in found) == sorted(counts.values())
    with back.map(lambda row: row.get_row_kind()).execute_and_collect() as found:
        assert set(found) == {RowKind.INSERT}


def test_rows_one_by_one_stay_in_one_job(tables: StreamTableEnvironment, watch: Watch) -> None:
    back = tables.to_data_stream(tables.from_data_stream(stream(tables)).where(col("n") > 36).select(col("n") + 1))
    with back.execute_and_collect() as found:
        assert sorted(row[0] for row in found) == [38, 39, 40]
    assert len(watch.ends) == 1


def test_an_explained_stream_does_not_run(tables: StreamTableEnvironment, watch: Watch) -> None:
    tables.create_temporary_view("v", stream(tables))
    assert "StreamScan([n, k, x, $timestamp])" in tables.explain_sql("SELECT k, SUM(n) FROM v GROUP BY k")
    assert watch.ends == []


def test_a_stream_with_changes_is_refused(tables: StreamTableEnvironment) -> None:
    with pytest.raises(NotImplementedError, match=r"from_changelog_stream.* in streaming mode only"):
        tables.from_changelog_stream(stream(tables)).execute()


def test_a_stream_without_end_is_refused(tables: StreamTableEnvironment) -> None:
    from millrace.common.watermark_strategy import WatermarkStrategy
    from millrace.datastream.connectors.datagen import DataGeneratorSource

    endless = tables._session.streams.from_source(
        DataGeneratorSource(lambda n: n, None), WatermarkStrategy.no_watermarks(), "endless", Types.LONG()
    )
    with pytest.raises(GraphError, match=r"endless.* never ends"):
        tables.from_data_stream(endless).execute()
