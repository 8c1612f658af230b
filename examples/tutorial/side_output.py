"""P4: a second output of another type beside the main one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.common import Types
from millrace.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment

SIDE = OutputTag("side-output", Types.STRING())


class Both(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value
        yield SIDE, f"side-output: {value}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    """The main output; ``get_side_output(SIDE)`` of it is the other one."""
    return env.from_collection([1, 2, 3], Types.INT()).process(Both(), Types.LONG())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = build(env)
    numbers.print()
    numbers.get_side_output(SIDE).print()
    env.execute("side output")


if __name__ == "__main__":
    main()
