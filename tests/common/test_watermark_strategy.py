from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from millrace.common.time import Duration, Time
from millrace.common.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    BoundedOutOfOrdernessWatermarks,
    MonotonousTimestamps,
    TimestampAssigner,
    WatermarkAlignment,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)

LONGS = st.integers(MIN_LONG_VALUE, MAX_LONG_VALUE)


class Recorder(WatermarkOutput):
    def __init__(self) -> None:
        self.events: list[int | str] = []

    def emit_watermark(self, timestamp_ms: int) -> None:
        self.events.append(timestamp_ms)

    def mark_idle(self) -> None:
        self.events.append("idle")

    def mark_active(self) -> None:
        self.events.append("active")


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def emitted(generator: WatermarkGenerator) -> list[int | str]:
    output = Recorder()
    generator.on_periodic_emit(output)
    return output.events


@given(st.lists(LONGS, max_size=20), st.integers(0, MAX_LONG_VALUE), st.integers(0, 20), st.booleans())
def test_bounded_watermarks_against_the_definition(
    timestamps: list[int], bound: int, cut: int, in_batches: bool
) -> None:
    generator = BoundedOutOfOrdernessWatermarks(bound)
    for part in (timestamps[:cut], timestamps[cut:]):
        if in_batches:
            generator.on_batch(part)
        else:
            for timestamp in part:
                generator.on_event(None, timestamp, Recorder())
        generator = pickle.loads(pickle.dumps(generator))
    expected = [max(timestamps) - bound - 1] if timestamps else []
    assert emitted(generator) == [watermark for watermark in expected if watermark >= MIN_LONG_VALUE]


def test_monotonous_timestamps() -> None:
    generator = MonotonousTimestamps()
    assert emitted(generator) == []
    generator.on_batch([1, 7, 3])
    assert emitted(generator) == [6]
    generator.on_batch([])
    assert emitted(pickle.loads(pickle.dumps(generator))) == [6]


def test_strategies_are_values() -> None:
    base = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    assigner = Second()
    full = (
        base.with_timestamp_assigner(assigner)
        .with_idleness(Time.minutes(1))
        .with_watermark_alignment("g", timedelta(seconds=3), Duration.of_millis(5))
    )
    assert (base.timestamp_assigner, base.idle_timeout_ms, base.alignment) == (None, None, None)
    assert full.timestamp_assigner is assigner
    assert full.idle_timeout_ms == 60_000
    assert full.alignment == WatermarkAlignment("g", 3_000, 5)
    with pytest.raises(FrozenInstanceError):
        full.idle_timeout_ms = 1  # type: ignore[misc]
    restored = pickle.loads(pickle.dumps(full))
    generator = restored.create_generator()
    generator.on_batch([10_000])
    assert emitted(generator) == [7_999]


def test_alignment_has_a_default_interval() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("g", Duration.of_millis(1))
    assert strategy.alignment == WatermarkAlignment("g", 1, 1_000)


def test_each_generator_is_new() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    first, second = strategy.create_generator(), strategy.create_generator()
    assert isinstance(first, MonotonousTimestamps)
    assert first is not second


def test_no_watermarks() -> None:
    assert WatermarkStrategy.no_watermarks().create_generator() is None


def test_own_generators() -> None:
    class Punctuated(WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            if event == "mark":
                output.emit_watermark(event_timestamp)
                output.mark_idle()

        def on_periodic_emit(self, output: WatermarkOutput) -> None:
            output.mark_active()

    generator = WatermarkStrategy.for_generator(Punctuated).create_generator()
    assert generator is not None
    assert not hasattr(generator, "on_batch")
    output = Recorder()
    for event, timestamp in (("a", 1), ("mark", 2)):
        generator.on_event(event, timestamp, output)
    generator.on_periodic_emit(output)
    assert output.events == [2, "idle", "active"]


def test_wrong_arguments() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with pytest.raises(ValueError, match="greater than zero"):
        strategy.with_idleness(Duration.of_millis(0))
    with pytest.raises(ValueError, match="negative"):
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1))
    with pytest.raises(ValueError, match="negative"):
        BoundedOutOfOrdernessWatermarks(-1)
    with pytest.raises(TypeError, match="TimestampAssigner"):
        strategy.with_timestamp_assigner(lambda value, timestamp: value)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a Duration"):
        strategy.with_idleness(5)  # type: ignore[arg-type]


def test_abstract_classes() -> None:
    for abstract in (TimestampAssigner, WatermarkGenerator, WatermarkOutput, AssignerWithPeriodicWatermarksWrapper):
        with pytest.raises(TypeError, match="abstract"):
            abstract()  # type: ignore[abstract]
