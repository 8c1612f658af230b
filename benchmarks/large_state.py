"""Does the time of an epoch follow the keys that it touches, or the keys that there are?

Fills the state with many keys, then touches 1,000 of them in every epoch, and compares the median epoch with that of
the same job with a small state; both in one run. Also prints how many state versions workers had to read per epoch:
one that takes a partition over reads the changes that it missed, nothing else.

    python -m benchmarks.large_state
"""

from __future__ import annotations

import argparse
import os
import statistics
from typing import Any

from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.jobs.listeners import EpochDone, PlainListener, set_listener
from millrace.spark.sessions.session import local_session

TOUCHED = 1_000
WARM_UP = 12


class Count(KeyedProcessFunction):
    """One update an event."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)


class Epochs(PlainListener):
    def __init__(self) -> None:
        self.all: list[EpochDone] = []

    def epoch(self, epoch: EpochDone) -> None:
        self.all.append(epoch)


def epochs_of(session: Any, keys: int, epochs: int) -> list[EpochDone]:
    """Fill ``keys`` keys, then ``epochs`` epochs of 1,000 events; gives the latter."""
    seen = Epochs()
    set_listener(seen)
    env = StreamExecutionEnvironment.get_execution_environment(None, session)
    env.set_parallelism(2)

    # A big element fans out to many keys, so that the filling takes a few epochs and not a thousand.
    fan = max(keys // (4 * TOUCHED), 1)
    filling = keys // fan

    def spread(index: int) -> Any:
        if index < filling:
            return range(index * fan, (index + 1) * fan)
        return ((index * 7919) % keys,)

    every = RateLimiterStrategy.per_checkpoint(TOUCHED)
    source = DataGeneratorSource(lambda index: index, filling + epochs * TOUCHED, every)
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events").set_parallelism(1)
    events.flat_map(spread).key_by(lambda key: key).process(Count()).print()
    env.execute(f"state of {keys:,} keys")
    return [epoch for epoch in seen.all if epoch.result.records][-epochs + WARM_UP :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=60)
    given = parser.parse_args()
    session = local_session(2)
    medians = {}
    for keys in (given.small, given.keys):
        epochs = epochs_of(session, keys, given.epochs)
        times = [epoch.duration_ms for epoch in epochs]
        medians[keys] = statistics.median(times)
        replayed = statistics.mean(epoch.result.replayed for epoch in epochs)
        print(
            f"{keys:>9,} keys: epoch p50 {medians[keys]:.0f} ms, max {max(times)} ms, state versions read per epoch "
            f"{replayed:.1f} ({len(epochs)} epochs)",
            flush=True,
        )
    ratio = medians[given.keys] / medians[given.small]
    print(f"ratio {ratio:.2f} ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
