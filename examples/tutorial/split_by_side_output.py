"""P6: one stream becomes three by side outputs, whose type may be another than that of the main one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixture import Click, clicks

from millrace.common import Types
from millrace.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment

TRIPLE = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
MARY = OutputTag("Mary-pv", TRIPLE)
BOB = OutputTag("Bob-pv", TRIPLE)


class ByUser(ProcessFunction):
    def process_element(self, value: Click, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value.user == "Mary":
            yield MARY, tuple(value)
        elif value.user == "Bob":
            yield BOB, tuple(value)
        else:
            yield value


def split(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Label -> its stream: triples for Mary and Bob, clicks for the others."""
    others = clicks(env).process(ByUser())
    return {"Mary pv": others.get_side_output(MARY), "Bob pv": others.get_side_output(BOB), "else": others}


def build(env: StreamExecutionEnvironment) -> DataStream:
    """(label, user, kind of element) of every click that came out somewhere."""
    mary, bob, others = [
        stream.map(lambda click, label=label: (label, click[0], type(click).__name__))
        for label, stream in split(env).items()
    ]
    return mary.union(bob, others)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for label, stream in split(env).items():
        stream.print(label)
    env.execute("split by side output")


if __name__ == "__main__":
    main()
