"""Notes, P9: late clicks. Up to two seconds late they correct the result of their window; after that they go to a side
output.

There is a watermark after every click, so it is known which ones are late. In batch mode there is only the last one:
none is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fixture import PACED, Click, stamped

from millrace.common import Time, Types
from millrace.datastream import DataStream, OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from millrace.datastream.window import TimeWindow, TumblingEventTimeWindows

CLICKS = [
    Click("Mary", "./home", 1000),
    Click("Mary", "./cart", 4000),
    Click("Mary", "./home", 5000),  # the watermark is now 4999: the first window fires
    Click("Mary", "./cart", 2000),  # fires it again
    Click("Mary", "./home", 6999),
    Click("Mary", "./cart", 3000),  # once more, with the watermark at 6998
    Click("Mary", "./home", 7000),  # 6999: the first window is dropped
    Click("Mary", "./cart", 3500),
]
LATE = OutputTag("late")


class Views(ProcessWindowFunction[Click, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Click]
    ) -> Iterator[str]:
        window = context.window()
        yield f"{key} [{window.start}, {window.end}): {len(list(elements))}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    views = (
        stamped(env, CLICKS, PACED)
        .key_by(lambda click: click.user)
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .allowed_lateness(Time.seconds(2))
        .side_output_late_data(LATE)
        .process(Views(), Types.STRING())
    )
    late = views.get_side_output(LATE).map(lambda click: f"too late: {click.user} at {click.timestamp}", Types.STRING())
    return views.union(late)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("late data")


if __name__ == "__main__":
    main()
