"""A source of which some subtasks have no split, and hold the watermarks back: that is told, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.programs import ListSource

from millrace.common import Duration, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.coordination.reading import PATIENCE, QuietSubtasks, ReadingState
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.testing.local import job_of

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


def reading(strategy: WatermarkStrategy = MONOTONOUS) -> ReadingState:
    """Of three subtasks the first one has a split, and has read some of it."""
    env = StreamExecutionEnvironment()
    job = job_of(env.from_source(ListSource([(1, 1)]), strategy, "Events").set_parallelism(3).map(lambda value: value))
    (info,) = [info for info in job.operators if info.name == "Source: Events"]
    state = ReadingState(info, lambda: 0)
    state.splits = {0: ["split"], 1: [], 2: []}
    state.watermarks = {0: 10, 1: MIN_TIMESTAMP, 2: MIN_TIMESTAMP}
    return state


def told(state: ReadingState, caplog: pytest.LogCaptureFixture, epochs: int = 3 * PATIENCE) -> list[str]:
    quiet = QuietSubtasks(state)
    for _ in range(epochs):
        quiet.look()
    return [record.getMessage() for record in caplog.records]


def test_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    (text,) = told(reading(), caplog)
    assert "'Source: Events': 2 of 3 subtasks (1, 2) have no split" in text
    assert "no more than one subtask" in text
    assert "table.exec.source.idle-timeout" in text


def test_not_at_once(caplog: pytest.LogCaptureFixture) -> None:
    assert told(reading(), caplog, epochs=PATIENCE - 1) == []


def _all_have_splits(state: ReadingState) -> None:
    state.splits = {subtask: ["split"] for subtask in range(3)}


def _others_have_finished(state: ReadingState) -> None:
    state.finished = {1, 2}


def _nothing_was_read(state: ReadingState) -> None:
    state.watermarks = {}


def _they_had_some(state: ReadingState) -> None:
    state.watermarks = {0: 10, 1: 4, 2: 5}


@pytest.mark.parametrize("change", [_all_have_splits, _others_have_finished, _nothing_was_read, _they_had_some])
def test_where_nothing_is_wrong(change: Callable[[ReadingState], None], caplog: pytest.LogCaptureFixture) -> None:
    state = reading()
    change(state)
    assert told(state, caplog) == []


@pytest.mark.parametrize(
    "strategy", [WatermarkStrategy.no_watermarks(), MONOTONOUS.with_idleness(Duration.of_seconds(1))]
)
def test_where_watermarks_need_not_wait(strategy: WatermarkStrategy, caplog: pytest.LogCaptureFixture) -> None:
    assert told(reading(strategy), caplog) == []
