"""What happens at the end of bounded input, and that quiet sources are judged only after they were read."""

from __future__ import annotations

import pytest

from millrace.common import Duration, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.connectors.number_seq import NumberSequenceSource
from millrace.testing import run_locally


class OnProcessingTime(KeyedProcessFunction):
    """Emits every element when a processing-time timer fires that is due long after the job."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(2**62 + value)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), 1


def numbers(count):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    return env, env.from_sequence(1, count)


def test_in_batch_mode_processing_time_timers_fire_before_operators_below_give_their_final_results():
    env, stream = numbers(6)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    fired = stream.key_by(lambda n: n % 3).process(OnProcessingTime())
    totals = fired.key_by(lambda pair: pair[0]).sum(1)
    # every number registers a timer of its own: two per key
    assert sorted(run_locally(totals).collected) == [(0, 2), (1, 2), (2, 2)]


def test_in_streaming_mode_pending_processing_time_timers_are_dropped():
    _, stream = numbers(6)
    assert run_locally(stream.key_by(lambda n: n % 3).process(OnProcessingTime())).collected == []


class CountsLife(MapFunction):
    opened = 0
    closed = 0

    def open(self, runtime_context):
        type(self).opened += 1

    def map(self, value):
        return value

    def close(self):
        type(self).closed += 1


@pytest.mark.parametrize("epoch_records", [None, 2])
def test_functions_are_closed_when_their_last_element_is_through(epoch_records):
    # The class is this module's own, so the copies in the tasks count on it.
    CountsLife.opened = CountsLife.closed = 0
    _, stream = numbers(10)
    result = run_locally(stream.rebalance().map(CountsLife()), epoch_records=epoch_records)
    assert sorted(result.collected) == list(range(1, 11))
    assert CountsLife.opened == CountsLife.closed == 2


class Tenth(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 100


class CountLate(ProcessFunction):
    def process_element(self, value, ctx):
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield value


def test_long_pauses_between_epochs_make_no_element_late():
    """The clock jumps 10 s between epochs, twice the idleness timeout; every source has elements in every epoch."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(Tenth())
        .with_idleness(Duration.of_seconds(5))
    )
    # Both subtasks read ascending numbers, the second one from far ahead: only idleness could let it lead.
    numbers = env.from_source(NumberSequenceSource(1, 40_000), strategy, "numbers")
    late = numbers.rebalance().process(CountLate(), Types.LONG())
    now = iter(range(0, 10**9, 10_000))
    epoch_time = {"value": 0}

    def clock():
        return epoch_time["value"]

    from millrace.testing.local import LocalEngine

    late.print()
    from dataclasses import replace

    engine = LocalEngine(replace(env.job_graph(), epoch_records=5_000), clock)
    printed = []
    for result in engine.epochs():
        epoch_time["value"] = next(now)
        printed += result.printed
    assert printed == []
