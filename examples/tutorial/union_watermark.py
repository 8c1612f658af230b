"""P7: the watermark of a union is the lowest of its inputs.

Each element is told the watermark that was there before it. How far it is by then depends on how the inputs come in:
here the elements of one stream, then those of the other; at the end both have reached the end of time.
"""

from __future__ import annotations

from collections.abc import Iterator

from fixture import PACED, stamped

from millrace.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment

FIRST = [("a", 1000), ("a", 5000), ("a", 6000)]
SECOND = [("b", 2000), ("b", 3000), ("b", 9000)]


class TellWatermark(ProcessFunction):
    def process_element(self, value: tuple[str, int], ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"当前水位线是:{ctx.timer_service().current_watermark()}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    union = stamped(env, FIRST, PACED).union(stamped(env, SECOND, PACED))
    return union.process(TellWatermark()).set_parallelism(1)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("union")


if __name__ == "__main__":
    main()
