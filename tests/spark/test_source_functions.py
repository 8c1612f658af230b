"""Source functions that take their time, on Spark: elements come as they are emitted, timers fire, the job can stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.test_execution import wait_for

from millrace.common.jobs import JobStatus
from millrace.datastream import KeyedProcessFunction, SourceFunction


class WhenPrinted(SourceFunction[int]):
    """Emits a number when the driver has got the one before."""

    def __init__(self, printed: Path, count: int | None = None) -> None:
        self.printed, self.count = printed, count
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        number, clock = 0, threading.Event()
        while self.running and number != self.count:
            ctx.collect(number)
            while self.running and not (self.printed / str(number)).exists():
                clock.wait(0.005)
            number += 1

    def cancel(self) -> None:
        self.running = False


def test_each_element_is_out_before_the_next_one_is_made(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(1)
    with env.add_source(WhenPrinted(tmp_path, 10)).execute_and_collect("one by one") as values:
        for expected, value in enumerate(values):
            assert value == expected
            (tmp_path / str(value)).touch()
    assert expected == 9


class Remind(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 20)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
        yield ctx.get_current_key()


def test_timers_fire_and_checkpoints_happen_while_the_function_waits(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path
) -> None:
    env = environment(1).enable_checkpointing(50)
    env.add_source(WhenPrinted(tmp_path)).key_by(lambda value: value).process(Remind()).print()
    client = env.execute_async("reminders")
    for number in range(3):
        wait_for(lambda: str(number) in watch.lines)  # noqa: B023  waits inside the loop
        (tmp_path / str(number)).touch()
    before = len(client.get_checkpoints())
    wait_for(lambda: len(client.get_checkpoints()) >= before + 2)
    client.stop().result()
    assert watch.ends == [JobStatus.FINISHED]
