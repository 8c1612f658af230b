"""Notes, P10: all that may be said of a window. Here an evictor leaves each user's last two clicks of ten seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fixture import Click, clicks

from millrace.common import Time, Types
from millrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment, WindowFunction
from millrace.datastream.window import CountEvictor, EventTimeTrigger, TimeWindow, TumblingEventTimeWindows

LATE = OutputTag("late")


class Urls(WindowFunction[Click, str, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Click]) -> Iterator[str]:
        yield f"{key} until {window.end}: {' '.join(click.url for click in inputs)}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        clicks(env)
        .key_by(lambda click: click.user)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .trigger(EventTimeTrigger.create())  # the one that it would have anyway
        .evictor(CountEvictor.of(2))
        .allowed_lateness(Time.seconds(1))
        .side_output_late_data(LATE)
        .apply(Urls(), Types.STRING())
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    last = build(env)
    last.print()
    last.get_side_output(LATE).print("late")
    env.execute("last clicks")


if __name__ == "__main__":
    main()
