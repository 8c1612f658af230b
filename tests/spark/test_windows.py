"""One program with all kinds of windows on Spark, in several epochs; the results are computed again in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.runtime.windows.window_oracle import Oracle, SessionOracle, grid
from tests.runtime.windows.windowing import LATE, Show, ShowSorted, Total
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common import Time, Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkStrategy
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

ms = Time.milliseconds
COUNT, KEYS, MAX = 400, 5, 2**63 - 1


def timestamp_of(number: int) -> int:
    """Out of order; every 25th element is 100 ms behind."""
    return number * 3 + number * 7 % 11 - (100 if number % 25 == 24 else 0)


ELEMENTS = [(number * number % KEYS, number) for number in range(COUNT)]


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return timestamp_of(value[1])


class EveryTenth(WatermarkGenerator):
    """At fixed elements, so that it is no matter how they are grouped."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event[1] % 10 == 0:
            output.emit_watermark(event_timestamp - 12)

    def on_periodic_emit(self, output: Any) -> None:
        """All is said where the elements are."""


def recomputed(model: Any) -> tuple[list[Any], list[Any]]:
    """(firings, late elements)"""
    happened = []
    for key, number in ELEMENTS:
        happened.append(model.element(key, (key, number), timestamp_of(number)))
        if number % 10 == 0:
            happened.append(model.watermark(timestamp_of(number) - 12))
    happened.append(model.watermark(MAX))
    return [firing for step in happened for firing in step.fired], [value for step in happened for value in step.late]


def total(values: Any) -> Any:
    numbers = [number for _, number in values]
    return values[0][0], len(numbers), sum(numbers), max(numbers)


def test_windows_in_epochs(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(2, **{"millrace.epoch.max-records": 60})
    pairs = env.from_collection(ELEMENTS, Types.TUPLE([Types.INT(), Types.INT()]))
    strategy = WatermarkStrategy.for_generator(EveryTenth).with_timestamp_assigner(Stamp())
    keyed = pairs.assign_timestamps_and_watermarks(strategy).set_parallelism(1).key_by(lambda value: value[0])

    tumbling = keyed.window(TumblingEventTimeWindows.of(ms(50))).side_output_late_data(LATE).process(ShowSorted())
    sliding = keyed.window(SlidingEventTimeWindows.of(ms(60), ms(20))).aggregate(Total(), Show())
    sessions = keyed.window(EventTimeSessionWindows.with_gap(ms(20))).allowed_lateness(30).aggregate(Total(), Show())
    counted = keyed.count_window(7).sum(1)

    named = [
        tumbling.map(lambda value: ("tumbling", value[:3])),
        tumbling.get_side_output(LATE).map(lambda value: ("late", value)),
        sliding.map(lambda value: ("sliding", value[:3])),
        sessions.map(lambda value: ("session", value[:3])),
        counted.map(lambda value: ("count", value)),
    ]
    found = Counter(named[0].union(*named[1:]).execute_and_collect())

    in_tumbling, late = recomputed(Oracle(grid(50, 50)))
    expected = [("tumbling", (key, span, tuple(sorted(values)))) for key, span, values in in_tumbling]
    expected += [("late", value) for value in late]
    in_sliding, _ = recomputed(Oracle(grid(60, 20)))
    expected += [("sliding", (key, span, (total(values),))) for key, span, values in in_sliding]
    in_sessions, _ = recomputed(SessionOracle(lambda value: 20, 30))
    expected += [("session", (key, span, (total(values),))) for key, span, values in in_sessions]
    for key in range(KEYS):
        mine = [number for k, number in ELEMENTS if k == key]
        expected += [("count", (key, sum(mine[end - 7 : end]))) for end in range(7, len(mine) + 1, 7)]
    assert found == Counter(expected)
    assert late
    assert any(span[1] - span[0] > 40 for _, span, _ in in_sessions)
    assert len(watch.epochs) >= COUNT // 60
