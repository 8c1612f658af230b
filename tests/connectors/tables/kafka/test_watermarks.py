"""The watermark of a topic is made of every partition for itself."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from tests.connectors.tables.kafka.topic_tables import BOUNDED, Tables, TopicTables

from millrace.common.watermark_strategy import WatermarkAlignment, WatermarkStrategy
from millrace.runtime.failure import JobFailedError
from millrace.runtime.tables.watermark import WatermarkAssigner
from millrace.util.exceptions import TableException

COLUMNS = "ts BIGINT, t AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR t AS t - INTERVAL '1' SECOND"
WINDOWS = (
    "SELECT MIN(ts) / 10000, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(t), INTERVAL '10' SECOND)) "
    "GROUP BY window_start, window_end"
)


@pytest.mark.services
@pytest.mark.parametrize("how", [{}, {"epoch_records": 30}, {"epoch_records": 30, "workers": 3, "seed": 5}])
def test_partitions_that_are_far_apart(tables: Tables, how: dict[str, Any]) -> None:
    """Nothing is late although one reader has all partitions and reads them one after the other."""
    topic = tables.topics.create(3)
    times = range(0, 100_000, 500)
    for partition in range(3):
        tables.topics.write(topic, [json.dumps({"ts": each}) for each in times], partition)
    tables.create("t", COLUMNS, topic, f"'format' = 'json', {BOUNDED}")
    expected = Counter(each // 10_000 for each in times for _ in range(3))
    assert dict(tables.rows(WINDOWS, parallelism=1, **how)) == expected


@pytest.mark.services
def test_rows_without_time(tables: Tables) -> None:
    topic = tables.topics.create(1)
    tables.topics.write(topic, ['{"ts": 1}', '{"ts": null}'])
    tables.create("t", COLUMNS, topic, f"'format' = 'json', {BOUNDED}")
    with pytest.raises(JobFailedError, match=r"not be NULL, as it is in the row \(ts=None\).*null-times' = 'drop'"):
        tables.rows(WINDOWS)
    tables.create("lenient", COLUMNS, topic, f"'format' = 'json', 'scan.watermark.null-times' = 'drop', {BOUNDED}")
    assert tables.rows(WINDOWS.replace("TABLE t,", "TABLE lenient,")) == [(0, 1)]


@pytest.fixture
def plans() -> TopicTables:
    return TopicTables("127.0.0.1:1")


def strategy(plans: TopicTables, sql: str, options: str = "", columns: str = COLUMNS) -> WatermarkStrategy | None:
    """That of the source; None: an operator makes the watermark."""
    plans.create("t", columns, "topic", f"'format' = 'json', {BOUNDED}{options}")
    nodes = plans.program([plans.environment.sql_query(sql)._plan], 1)._program.added()
    of_sources: list[WatermarkStrategy] = [each.spec.strategy for each in nodes if hasattr(each.spec, "strategy")]
    operators = [each for each in nodes if isinstance(getattr(each.spec, "config", None), WatermarkAssigner)]
    assert [each.generator_factory is None for each in of_sources] == [bool(operators)] * len(of_sources)
    return None if operators else of_sources[0]


def test_options(plans: TopicTables) -> None:
    options = (
        "'scan.watermark.idle-timeout' = '3 s', 'scan.watermark.alignment.group' = 'g', "
        "'scan.watermark.alignment.max-drift' = '1 min', 'scan.watermark.emit.strategy' = 'on-event'"
    )
    found = strategy(plans, WINDOWS, f", {options}")
    assert found is not None
    assert (found.idle_timeout_ms, found.alignment) == (3_000, WatermarkAlignment("g", 60_000, 1_000))


def test_the_session_says_when_partitions_are_idle(plans: TopicTables) -> None:
    plans.environment.get_config().set("table.exec.source.idle-timeout", "5 s")
    found = strategy(plans, WINDOWS)
    assert found is not None
    assert (found.idle_timeout_ms, found.alignment) == (5_000, None)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (WINDOWS, COLUMNS.replace("ts, 3", "ts + 0 * RAND_INTEGER(5), 3")),
        (WINDOWS, COLUMNS.replace("t - INTERVAL '1' SECOND", "t - RAND_INTEGER(3) * INTERVAL '1' SECOND")),
    ],
)  # fmt: skip
def test_where_an_operator_makes_it(plans: TopicTables, sql: str, columns: str) -> None:
    assert strategy(plans, sql, columns=columns) is None


def test_two_queries_of_one_table(plans: TopicTables) -> None:
    assert strategy(plans, f"{WINDOWS} UNION ALL {WINDOWS.replace('COUNT(*)', 'MAX(ts)')}") is not None


def test_queries_that_read_other_columns(plans: TopicTables) -> None:
    """One source serves them all, and its watermark is that of each of them."""
    columns = f"a BIGINT, b BIGINT, p AS PROCTIME(), {COLUMNS}"
    plans.create("t", columns, "topic", f"'format' = 'json', {BOUNDED}")
    queries = [WINDOWS, WINDOWS.replace("COUNT(*)", "MAX(a)"), "SELECT b, COUNT(*) FROM t WHERE a = 1 GROUP BY b"]
    relations = [plans.environment.sql_query(each)._plan for each in queries]
    nodes = plans.program(relations, 1)._program.added()
    (source,) = [each.spec for each in nodes if hasattr(each.spec, "strategy")]
    assert source.strategy.generator_factory is not None
    assert not [each for each in nodes if isinstance(getattr(each.spec, "config", None), WatermarkAssigner)]


@pytest.mark.parametrize("sql", ["SELECT a FROM t", "SELECT a + 1, ts FROM t WHERE a > 1", WINDOWS])
def test_rows_without_time_are_left_out_whatever_is_read(plans: TopicTables, sql: str) -> None:
    """Projections are put together over a watermark that is made in the source, but not over what leaves rows out."""
    columns, drop = f"a BIGINT, {COLUMNS}", "'scan.watermark.null-times' = 'drop'"
    plans.create("t", columns, "topic", f"'format' = 'json', {drop}, {BOUNDED}")
    names = [each.name for each in plans.program([plans.environment.sql_query(sql)._plan], 1)._program.added()]
    assert "LeaveOutNoTimes" in names


@pytest.mark.services
def test_no_row_without_time_comes_through_a_projection(tables: Tables) -> None:
    topic = tables.topics.create(1)
    tables.topics.write(topic, ['{"a": 1, "ts": 1}', '{"a": 2, "ts": null}', '{"a": 3, "ts": 2}'])
    options = f"'format' = 'json', 'scan.watermark.null-times' = 'drop', {BOUNDED}"
    tables.create("t", f"a BIGINT, {COLUMNS}", topic, options)
    assert sorted(tables.rows("SELECT a FROM t")) == [(1,), (3,)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'scan.watermark.emit.strategy' = 'never'", "'scan.watermark.emit.strategy' is on-periodic or on-event"),
        ("'scan.watermark.alignment.group' = 'g'", "'scan.watermark.alignment.max-drift' are set both, or none"),
        ("'scan.watermark.idle-timeout' = 'soon'", "'scan.watermark.idle-timeout': "),
    ],
)  # fmt: skip
def test_wrong_options(plans: TopicTables, options: str, message: str) -> None:
    with pytest.raises(TableException, match=message):
        strategy(plans, WINDOWS, f", {options}")
