"""Jobs beside each other on one local session: the share of a core that all their processes take together.

    python -m benchmarks.many_jobs [--jobs 5] [--rate 100] [--seconds 30] [--way flow]

Each job has a source function of so many records a second, counts by key with a parallelism of 2, and prints nothing.
The start and the first ten seconds do not count. Wanted of five jobs with 100 records/s each: 0.4 of a core. Ends with
1 if they take more, or if one of them has read less than nine tenths of what its source gives.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from benchmarks.start import processor_seconds
from millrace.common import Configuration, Types
from millrace.common.functions import SourceFunction
from millrace.datastream import StreamExecutionEnvironment

BAR = 0.4
WARM_SECONDS = 10.0
RECORDS = "millrace.records-read"


class Steady(SourceFunction[int]):
    """So many numbers a second."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._over = False

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        begin, number = time.monotonic(), 0
        while not self._over:
            while number < (time.monotonic() - begin) * self._rate:
                ctx.collect(number)
                number += 1
            time.sleep(1 / self._rate)

    def cancel(self) -> None:
        self._over = True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--way", default="flow")
    given = parser.parse_args()
    configuration = Configuration()
    configuration.set_string("millrace.epoch.execution", given.way)
    clients = []
    for number in range(given.jobs):
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        numbers = env.add_source(Steady(given.rate), "steady", Types.LONG())
        counted = numbers.map(lambda value: (value % 10, 1)).key_by(lambda pair: pair[0]).sum(1)
        counted.filter(lambda pair: False).print()
        clients.append(env.execute_async(f"job {number}"))
    time.sleep(WARM_SECONDS)
    own = os.getpid()
    spent, began = processor_seconds(own), time.monotonic()
    known = [client.get_accumulators().result()[RECORDS] for client in clients]
    time.sleep(given.seconds)
    cores = (processor_seconds(own) - spent) / (time.monotonic() - began)
    read = [client.get_accumulators().result()[RECORDS] - before for client, before in zip(clients, known)]
    for client in clients:
        client.cancel().result()
    good = cores <= BAR and min(read) >= 0.9 * given.rate * (given.seconds - 2)
    verdict = "reached" if good else "NOT reached"
    print(f"{given.jobs} jobs ({given.way}), {min(read):,} records each: {cores:.2f} of a core (bar {BAR}: {verdict})")
    sys.exit(not good)


if __name__ == "__main__":
    main()
