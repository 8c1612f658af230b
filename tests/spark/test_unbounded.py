"""Jobs without end, through Structured Streaming: processing-time timers, files that appear while the job runs."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.test_execution import endless, wait_for
from tests.spark.test_graphs import written

from millrace.common import Duration, Encoder, Types
from millrace.common.jobs import JobStatus
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, TimeDomain
from millrace.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, RollingPolicy, StreamFormat
from millrace.datastream.state import ValueStateDescriptor

NO_TIME = WatermarkStrategy.no_watermarks()


class Remind(KeyedProcessFunction):
    """Counts per key; says the count 200 ms after the first element since it last did."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.due = runtime_context.get_state(ValueStateDescriptor("due", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        if self.due.value() is None:
            self.due.update(ctx.timer_service().current_processing_time() + 200)
            ctx.timer_service().register_processing_time_timer(self.due.value())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int, int]]:
        assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
        assert timestamp == self.due.value() <= ctx.timer_service().current_processing_time()
        self.due.clear()
        yield ctx.get_current_key(), self.count.value(), timestamp


def test_processing_time_timers_of_an_endless_job(environment: MakeEnvironment) -> None:
    env = environment(2)
    counts: dict[int, list[tuple[int, int]]] = {0: [], 1: [], 2: []}
    reminders = endless(env).key_by(lambda value: value % 3).process(Remind())
    with reminders.execute_and_collect("reminders") as values:
        for key, count, timestamp in values:
            counts[key].append((timestamp, count))
            if min(map(len, counts.values())) >= 3:
                break
    for told in counts.values():
        assert told == sorted(told)
        assert all(later[0] - earlier[0] >= 200 for earlier, later in itertools.pairwise(told))
        assert all(later[1] > earlier[1] for earlier, later in itertools.pairwise(told)), "the state goes on"


class Beat(KeyedProcessFunction):
    """Says how often it fired, 50 ms after the last time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        if self.count.value() is None:
            self.count.update(0)
            self.set_next(ctx)

    def set_next(self, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 50)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
        self.count.update(self.count.value() + 1)
        self.set_next(ctx)
        yield self.count.value()


def test_a_chain_of_timers_does_not_wait_for_epochs(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(1, **{"millrace.epoch.interval-ms": 1_000})
    beats = endless(env, per_second=20).key_by(lambda value: 0).process(Beat())
    found = []
    with beats.execute_and_collect("beats") as values:
        for value in values:
            found.append(value)
            if len(found) == 60:
                break
    assert found == list(range(1, 61))
    assert len(watch.epochs) <= 20, "at their borders alone two could fire in each"


class Slowly(MapFunction):
    def map(self, value: str) -> str:
        time.sleep(0.001)
        return value


def add_file(folder: Path, name: str, lines: list[str]) -> None:
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    hidden.rename(folder / name)


def test_files_that_appear_are_read_once_and_written_epoch_by_epoch(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path
) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    add_file(inbox, "0.txt", ["0-a", "0-b"])
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(inbox))
    sink = FileSink.for_row_format(str(outbox), Encoder.simple_string_encoder())
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    sink.with_rolling_policy(RollingPolicy.default_rolling_policy(rollover_interval=1, inactivity_interval=1))
    sink.with_bucket_check_interval(1)
    env = environment(2)
    lines = env.from_source(source.monitor_continuously(Duration.of_millis(50)).build(), NO_TIME, "inbox")
    lines.map(Slowly(), Types.STRING()).sink_to(sink.build())
    client = env.execute_async("inbox to outbox")

    expected = ["0-a", "0-b"]
    for number in range(1, 4):
        wait_for(lambda: written(outbox) == expected)  # noqa: B023  waits inside the loop
        names = [f"{number}-{line}" for line in range(5)]
        add_file(inbox, f"{number}.txt", names)
        expected = sorted(expected + names)
    wait_for(lambda: written(outbox) == expected)
    client.stop().result()  # type: ignore[attr-defined]
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert written(outbox) == expected
    assert [path for path in outbox.iterdir() if path.name.startswith(".")] == []
    assert sum(result.records for result in watch.epochs) == len(expected)


def test_an_endless_job_that_fails(environment: MakeEnvironment) -> None:
    env = environment(1)
    values = endless(env).map(lambda value: 1 // (value - 7)).execute_and_collect()
    seen: Counter[int] = Counter()
    try:
        for value in values:
            seen[value] += 1
    except Exception as error:
        text = str(error)
    assert "ZeroDivisionError" in text
    assert "element: 7" in text
    assert "Traceback" not in text and "org.apache" not in text
