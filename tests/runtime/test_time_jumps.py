"""A cap on jumps of event time: what it lets pass, in streams, in sources and in tables."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest
from tests.runtime.jobs import numbers

from millrace.common import Duration, Time, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.relational.sources import MAX_JUMP
from millrace.runtime.clocks import CONFIRMED, JUMPS_METRIC, TimeJumps
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.operators.timestamps import EventTime
from millrace.spark.jobs.listeners import left_out
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_locally
from millrace.util.exceptions import TableException

FAR = 10**9


def test_what_is_ahead_of_all_before_is_not_followed() -> None:
    cap = TimeJumps(100)
    assert cap.capped([5, 100, 3]) == ([5, 100, 3], [])
    assert cap.capped([150, FAR, 200, MIN_TIMESTAMP]) == ([150, 150, 200, MIN_TIMESTAMP], [1])
    assert cap.capped([300, 301, 401, 402, 503]) == ([300, 301, 401, 402, 402], [4])
    assert cap.capped([]) == ([], []) and cap.capped([MIN_TIMESTAMP]) == ([MIN_TIMESTAMP], [])


def test_a_first_one_that_is_wrong_does_no_harm_where_others_come_with_it() -> None:
    assert TimeJumps(100).capped([FAR, 5, 6]) == ([5, 5, 6], [0])


def test_time_that_has_really_jumped_is_followed() -> None:
    cap = TimeJumps(100)
    cap.capped([0])
    later = [FAR + number for number in range(CONFIRMED + 5)]
    found, ignored = cap.capped(later)
    assert len(ignored) == CONFIRMED - 1 and found[-1] == FAR + CONFIRMED + 4
    assert cap.capped([FAR + 150])[1] == []


def test_an_honest_one_between_means_that_it_has_not_jumped() -> None:
    cap = TimeJumps(100)
    cap.capped([0])
    for number in range(3 * CONFIRMED):
        assert cap.capped([FAR, number % 50])[1] == [0]
        assert cap.capped([FAR])[1] == [0]


class At(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())


def _watermarks(strategy: WatermarkStrategy, chunks: list[list[int]], restored: bool = False) -> list[Any]:
    class Marks:
        def __init__(self) -> None:
            self.found: list[Any] = []

        def mark(self, mark: Any) -> None:
            self.found.append(mark)

    marks = Marks()
    event_time = EventTime(strategy, lambda values, times: None, marks)
    for chunk in chunks:
        if restored:
            snapshot = pickle.loads(pickle.dumps(event_time.snapshot()))
            event_time = EventTime(strategy, lambda values, times: None, marks)
            event_time.restore(snapshot)
        event_time.elements(chunk, None, 0)
        event_time.periodic(0)
    return marks.found


@pytest.mark.parametrize("restored", [False, True])
def test_watermarks_of_a_stream(restored: bool) -> None:
    chunks = [[0, 10], [FAR, 20], [FAR + 1], [30]]
    assert _watermarks(STRATEGY, chunks, restored)[-1] == FAR
    assert _watermarks(STRATEGY.with_max_jump(Duration.of_millis(100)), chunks, restored) == [9, 19, 29]


def test_the_operator_counts_and_shows_one(caplog: pytest.LogCaptureFixture) -> None:
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    with_cap = STRATEGY.with_max_jump(Duration.of_millis(1500))
    stream = numbers(env, [0, 500, FAR, 600, 1200, 2500, FAR + 5, 3100]).assign_timestamps_and_watermarks(with_cap)
    windows = stream.key_by(lambda value: 0).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    with caplog.at_level(logging.WARNING):
        run = run_locally(windows.reduce(lambda a, b: a + b))
    # As without the two: they are in a window of their own.
    assert sorted(run.collected) == [1100, 1200, 2500, 3100, 2 * FAR + 5]
    assert "1 elements were so far in the future" in caplog.text and str(FAR) in caplog.text
    assert [each.value.count for each in run.metrics if each.path == (JUMPS_METRIC,)] == [2]


def test_a_jump_is_longer_than_nothing() -> None:
    with pytest.raises(ValueError, match="max_jump must be greater than zero, got 0 ms"):
        STRATEGY.with_max_jump(Duration.of_millis(0))


def test_the_last_line_names_them() -> None:
    assert left_out(0, 3, 2) == ", 3 that came too late dropped, 2 from far in the future that no watermark followed"
    assert left_out(0, 0, 0) == ""


def _table(tables: TableEnvironment, folder: Any, options: str) -> None:
    lines = ["2020-01-01 00:00:01,1", "2020-01-01 00:00:02,2", "2099-01-01 00:00:00,3", "2020-01-01 00:00:03,4"]
    lines += [f"2020-01-01 00:{minute:02}:00,{minute}" for minute in range(1, 20)]
    folder.joinpath("events.csv").write_text("\n".join(lines) + "\n")
    tables.execute_sql(
        f"""CREATE TABLE events (ts TIMESTAMP(3), n INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
            WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv'{options})"""
    )


def test_a_table_says_what_it_may_be(tmp_path: Any) -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for said, message in (("soon", f"'{MAX_JUMP}': "), ("0 s", f"'{MAX_JUMP}' must be longer than nothing")):
        _table(tables, tmp_path, f", '{MAX_JUMP}' = '{said}'")
        with pytest.raises(TableException, match=message):
            tables.sql_query("SELECT * FROM events")
        tables.execute_sql("DROP TABLE events")
