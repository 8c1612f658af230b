"""``Alignment``: the limits of a group, by what is known of the last epoch and of the one that goes on."""

from __future__ import annotations

from typing import Any

from tests.programs import ListSource
from tests.runtime.jobs import job_of

from millrace.common import Duration, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import OperatorSoFar, OperatorTimes, SourceReport, TaskSoFar, TaskTimes
from millrace.runtime.coordination.reading import Alignment, ReadingState, reading_states
from millrace.runtime.elements import MIN_TIMESTAMP

DRIFT = 10


def sources_of(groups: dict[str, str | None]) -> tuple[Alignment, dict[str, ReadingState]]:
    """Sources by name, each with its group."""

    def build(env: StreamExecutionEnvironment) -> Any:
        streams = []
        for name, group in groups.items():
            strategy = WatermarkStrategy.for_monotonous_timestamps()
            if group is not None:
                strategy = strategy.with_watermark_alignment(group, Duration.of_millis(DRIFT))
            streams.append(env.from_source(ListSource([(1, 1)]), strategy, name).set_parallelism(1))
        return streams[0].union(*streams[1:])

    states = reading_states(job_of(build), lambda: 0)
    for state in states:
        state.take(0, SourceReport(("split",), False, 100))
    return Alignment(states), {state.info.name.removeprefix("Source: "): state for state in states}


def told(state: ReadingState, watermark: int, holds_back: bool = True) -> TaskSoFar:
    report = OperatorSoFar(state.info.id, 0, 0, 0, MIN_TIMESTAMP, watermark, 0, 0, OperatorTimes(), holds_back)
    return TaskSoFar(0, 0, (report,), TaskTimes())


def test_each_group_waits_for_its_slowest() -> None:
    alignment, known = sources_of({"a": "one", "b": "one", "c": "other", "d": None})
    known["b"].take(0, SourceReport(("split",), False, 40))
    ids = {name: state.info.id for name, state in known.items()}
    assert alignment.begin_epoch() == {ids["a"]: 50, ids["b"]: 50, ids["c"]: 110}


def test_limits_follow_what_is_told_of_the_epoch() -> None:
    alignment, known = sources_of({"a": "one", "b": "one"})
    alignment.begin_epoch()
    assert alignment.so_far([told(known["a"], 150)]) == {}, "b still holds it back"
    assert set(alignment.so_far([told(known["b"], 120)]).values()) == {130}
    assert alignment.so_far([told(known["b"], 120)]) == {}, "nothing new"
    assert set(alignment.so_far([told(known["b"], 120, holds_back=False)]).values()) == {160}
    # The next epoch begins with what is known of the complete one.
    assert set(alignment.begin_epoch().values()) == {110}


def test_an_old_watermark_does_not_take_a_limit_back() -> None:
    alignment, known = sources_of({"a": "one"})
    alignment.begin_epoch()
    assert alignment.so_far([told(known["a"], 70)]) == {}


def test_a_job_without_groups_has_no_limits() -> None:
    alignment, known = sources_of({"a": None})
    assert alignment.begin_epoch() == {}
    assert alignment.so_far([told(known["a"], 500)]) == {}
