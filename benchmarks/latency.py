"""How long an event takes from its making to a visible result, exactly once, by what carries the epochs.

    python -m benchmarks.latency [--rate 1000] [--seconds 20] [--ways spark-jobs:100 resident:10] [--folder /dev/shm]

Two sources make events by the clock; they are counted by key and written by a two-phase sink into files, each of which
can be seen when its epoch is recorded as a checkpoint (with fsync). A way is what carries epochs, and the interval of
epochs and checkpoints in ms. All ways run on one session, in turn; every count is checked. Then the sources fall
silent, and the processor time of the idle job is measured. The first five seconds of events don't count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import psutil

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.jobs.listeners import EpochDone, PlainListener, set_listener
from millrace.spark.sessions.session import local_session
from millrace.testing import LedgerSink, read_ledger

WIDTH, KEYS = 2, 100
WARM_SECONDS, SILENT_SECONDS, IDLE_SECONDS = 5.0, 3.0, 8.0

Event = tuple[int, float]
"""(key, when it was made)"""


class Making(Source[Event, int]):
    """``rate`` events a second in all, for so many seconds; then silence. A split is a subtask's number of events."""

    def __init__(self, rate: float, seconds: float) -> None:
        self.rate = rate
        self.seconds = seconds

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[int], checkpoint: Any = None) -> Enumerator:
        return Enumerator(context)

    def create_reader(self, context: SourceReaderContext) -> Reader:
        return Reader(self, context.get_index_of_subtask())


class Enumerator(SplitEnumerator[int]):
    def __init__(self, context: SplitEnumeratorContext[int]) -> None:
        self._context = context

    def handle_split_request(self, subtask_id: int) -> None:
        self._context.assign_split(0, subtask_id)
        self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[int], subtask_id: int) -> None: ...

    def snapshot_state(self, checkpoint_id: int) -> None: ...


class Reader(SourceReader[Event, int]):
    def __init__(self, source: Making, subtask: int) -> None:
        self._source = source
        self._subtask = subtask
        self._made: int | None = None
        self._began = 0.0

    def add_splits(self, splits: Sequence[int]) -> None:
        (self._made,) = splits
        self._began = time.time()

    def notify_no_more_splits(self) -> None: ...

    def poll_next(self, output: ReaderOutput[Event]) -> InputStatus:
        if self._made is not None:
            rate = self._source.rate / WIDTH
            until = int(min(time.time() - self._began, self._source.seconds) * rate)
            numbers = range(self._made, until)
            output.collect_batch(
                [((number * WIDTH + self._subtask) % KEYS, self._began + number / rate) for number in numbers]
            )
            self._made = max(self._made, until)
        return InputStatus.NOTHING_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[int]:
        return [] if self._made is None else [self._made]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count, value[1]


class Epochs(PlainListener):
    """How long each epoch took (ms), and that of its phases."""

    def __init__(self) -> None:
        self.took: list[int] = []
        self.phases: list[dict[str, float]] = []

    def epoch(self, epoch: EpochDone) -> None:
        self.took.append(epoch.duration_ms)
        self.phases.append(epoch.result.phases)


def processor_seconds() -> float:
    """Of this process and all that it started."""
    spent = 0.0
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        spent += times.user + times.system
    return spent


def measure(session: Any, way: str, interval: int, rate: float, seconds: float, place: str | None) -> list[float]:
    """Latencies (ms), sorted; prints them.

    :param place: where the files of checkpoints and of the sink lie; None: in the folder for temporary ones.
    """
    epochs = Epochs()
    set_listener(epochs)
    visible: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="millrace-latency-", dir=place) as folder:
        configuration = Configuration()
        for key, value in {
            "millrace.epoch.execution": way,
            "millrace.epoch.interval-ms": str(interval),
            "execution.checkpointing.interval": f"{interval} ms",
            "execution.checkpointing.dir": f"{folder}/checkpoints",
        }.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration, session).set_parallelism(WIDTH)
        events = env.from_source(Making(rate, WARM_SECONDS + seconds), WatermarkStrategy.no_watermarks(), "events")
        counts = events.key_by(lambda event: event[0]).process(Count())
        counts.sink_to(LedgerSink(f"{folder}/ledger", lambda name: visible.setdefault(name, time.time())))
        client = env.execute_async("latency")
        while not visible:
            time.sleep(0.01)
        time.sleep(WARM_SECONDS)
        before, warm, begun = processor_seconds(), time.time(), len(epochs.took)
        time.sleep(seconds - 1)
        busy, made = (processor_seconds() - before) / (time.time() - warm), epochs.took[begun:]
        phases = epochs.phases[begun:]
        time.sleep(1 + SILENT_SECONDS)
        before, begun = processor_seconds(), len(epochs.took)
        time.sleep(IDLE_SECONDS)
        idle, idle_epochs = (processor_seconds() - before) / IDLE_SECONDS, len(epochs.took) - begun
        if client.get_job_status().result().is_globally_terminal_state():
            client.get_job_execution_result().result()
        client.cancel().result()
        ledger = read_ledger(f"{folder}/ledger")
    counted: dict[int, list[int]] = defaultdict(list)
    took = []
    for entry in ledger.entries:
        for key, count, moment in entry.records:
            counted[key].append(count)
            if moment > warm:
                took.append((visible[entry.name] - moment) * 1000)
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in counted.values()), "lost or doubled"
    assert sum(map(len, counted.values())) == int((WARM_SECONDS + seconds) * rate / WIDTH) * WIDTH
    took.sort()
    print(
        f"{way + ':' + str(interval):15} p50 {statistics.median(took):6.1f} ms  p99 {p99(took):6.1f} ms  "
        f"({len(took):,} events, {len(made)} epochs of {statistics.median(made):.0f} ms)  processor {busy:4.2f}, "
        f"idle {idle:4.2f} with {idle_epochs / IDLE_SECONDS:.0f} epochs/s",
        flush=True,
    )
    means = {name: statistics.fmean(each.get(name, 0.0) for each in phases) for name in phases[-1]}
    print("    ms of an epoch: " + ", ".join(f"{name} {mean:.1f}" for name, mean in means.items()), flush=True)
    return took


def p99(took: Sequence[float]) -> float:
    return took[int(len(took) * 0.99)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=1_000, help="events a second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--ways", nargs="+", default=["spark-jobs:100", "spark-jobs:10", "resident:10"])
    parser.add_argument("--folder", help="where the files of checkpoints and of the sink lie")
    given = parser.parse_args()
    session = local_session(WIDTH)
    found = []
    for way, _, interval in (each.partition(":") for each in given.ways):
        found.append(measure(session, way, int(interval), given.rate, given.seconds, given.folder))
    first, last = found[0], found[-1]
    print(
        f"the first by the last: p50 {statistics.median(first) / statistics.median(last):.1f}, "
        f"p99 {p99(first) / p99(last):.1f}   ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


if __name__ == "__main__":
    main()
