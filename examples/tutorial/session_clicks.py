"""Notes, P2: how many clicks a user made in a session, which ends when there was none for half an hour.

Bob's click at 20 minutes comes last. It lies between his two others and makes one session of them.
"""

from __future__ import annotations

from fixture import LastField, stamped

from millrace.common import Duration, Time, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.window import EventTimeSessionWindows

MINUTE = 60_000
CLICKS = [
    ("Mary", 0 * MINUTE), ("Bob", 1 * MINUTE), ("Mary", 10 * MINUTE), ("Mary", 39 * MINUTE), ("Bob", 45 * MINUTE),
    ("Mary", 69 * MINUTE), ("Mary", 100 * MINUTE), ("Bob", 20 * MINUTE),
]  # fmt: skip
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_hours(2)).with_timestamp_assigner(LastField())


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        stamped(env, CLICKS, STRATEGY)
        .map(lambda click: (click[0], 1), Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda click: click[0])
        .window(EventTimeSessionWindows.with_gap(Time.minutes(30)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("clicks per session")


if __name__ == "__main__":
    main()
