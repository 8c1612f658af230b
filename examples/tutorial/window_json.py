"""Notes, P4, without its Kafka: lines are parsed, those that are not for us dropped, and the amounts of five minutes
summed up by user and written as JSON."""

from __future__ import annotations

import json

from fixture import LastField

from millrace.common import Duration, Time, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows

LINES = [
    "Mary,3,1000", "Bob,2,2000", "# a comment", "Mary,4,200000", "Bob,1,330000", "Mary,10,299999", "Mary,5,300000",
]  # fmt: skip
MAX_LAG = Duration.of_minutes(1)


def parsed(text: str) -> tuple[str, int, int]:
    user, amount, timestamp = text.split(",")
    return user, int(amount), int(timestamp)


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(MAX_LAG).with_timestamp_assigner(LastField())
    return (
        env.from_collection(LINES)
        .filter(lambda text: not text.startswith("#"))
        .map(parsed, Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]))
        .assign_timestamps_and_watermarks(strategy)
        .set_parallelism(1)
        .key_by(lambda sale: sale[0])
        .window(TumblingEventTimeWindows.of(Time.minutes(5)))
        .sum(1)
        .map(lambda sale: json.dumps({"user": sale[0], "amount": sale[1]}), Types.STRING())
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("window sums as JSON")


if __name__ == "__main__":
    main()
