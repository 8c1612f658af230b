"""The DataStream jobs of ``benchmarks.cep`` on Millrace.

python datastream.py greedy|fails|fails-past EVENTS [expressions]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from millrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.table.expressions import col

Event = tuple[int, str, int, int]
"""(key, name, price, ts in ms)"""
WINDOW = Time.seconds(10)
DELAY = Time.seconds(1)
TYPE = Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG(), Types.LONG()])
"""so that expressions know the fields, which Flink calls f0, f1, ... in tuples"""
_name, _price = col("f1"), col("f2")


def event(i: int) -> Event:
    h = i * 2654435761 & 0xFFFFFFFF
    return (h >> 8) % 1000, "abcdef"[(h >> 20) % 6], (h >> 12) % 100, 2 * i + 1


def login(i: int) -> Event:
    h = i * 2654435761 & 0xFFFFFFFF
    return (h >> 8) % 1000, "fail" if (h >> 20) % 10 < 6 else "ok", (h >> 12) % 100, 2 * i + 1


class Time3(TimestampAssigner):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[3]


def named(name: str, expressions: bool) -> Any:
    return _name == name if expressions else lambda event: event[1] == name


def pattern(job: str, expressions: bool) -> Pattern:
    if job == "greedy":
        dear = (_name == "a") & (_price > 50)
        first: Callable[[Event], bool] = lambda event: event[1] == "a" and event[2] > 50
        begin = Pattern.begin("a").where(dear if expressions else first)
        loop = begin.followed_by("b").where(named("b", expressions)).times(1, 5).greedy()
        return loop.followed_by("c").where(named("c", expressions)).within(WINDOW)
    past = job == "fails-past"
    skip = AfterMatchSkipStrategy.skip_past_last_event() if past else AfterMatchSkipStrategy.no_skip()
    return Pattern.begin("fail", skip).where(named("fail", expressions)).times(3).consecutive().within(WINDOW)


def main() -> None:
    job, events = sys.argv[1], int(sys.argv[2])
    expressions = "expressions" in sys.argv[3:]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    times = WatermarkStrategy.for_bounded_out_of_orderness(DELAY).with_timestamp_assigner(Time3())
    numbers = env.from_sequence(0, max(events - 1, 0)).filter(lambda i: i < events)
    made = numbers.map(event if job == "greedy" else login, output_type=TYPE if expressions else None)
    stream = made.assign_timestamps_and_watermarks(times).key_by(lambda event: event[0], key_type=Types.LONG())
    matches = CEP.pattern(stream, pattern(job, expressions)).select(lambda match: len(match))
    count = 0
    with matches.execute_and_collect() as found:
        for _ in found:
            count += 1
    print(f"matches {count}")


if __name__ == "__main__":
    main()
