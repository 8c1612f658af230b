"""The programs of slow_steps.py, one in a process of its own: jobs in which a function, a sink or a call is slow.

    python -m benchmarks.slow_shapes NAME FOLDER [--kafka BOOTSTRAP] [--set KEY=VALUE]...

It tells the parent, in lines that begin with MARK, when the job begins (a first job has run on the same session by
then), and what became of it. The line ``stop`` on its input asks for a stop with a savepoint; SIGINT is Ctrl-C.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.common import Configuration, SimpleStringSchema, Time, Types, WatermarkStrategy
from millrace.common.functions import (
    AsyncFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SourceFunction,
)
from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.datastream import AsyncDataStream, DataStream, StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from millrace.datastream.window import TumblingProcessingTimeWindows

MARK = "MARK"
MANY = 10**7
FEW = 400
KEYS = 100
CAPACITY = 10
TOPIC, PARTITIONS = "waiting", 4


class Slow(MapFunction):
    """Sleeps for each value.

    :param only: the one subtask that does.
    """

    def __init__(self, seconds: float, only: int | None = None) -> None:
        self._seconds = seconds
        self._only = only

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._only not in (None, runtime_context.get_index_of_this_subtask()):
            self._seconds = 0.0

    def map(self, value: Any) -> Any:
        if self._seconds:
            time.sleep(self._seconds)
        return value


class Uneven(MapFunction):
    """1 us and 100 ms, in turn."""

    def map(self, value: int) -> int:
        time.sleep(0.1 if value % 2 else 1e-6)
        return value


class Ask(AsyncFunction[int, int]):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(self._seconds)
        return [value]


class SlowWriter(SinkWriter[int]):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def write(self, element: int, context: SinkWriterContext) -> None:
        time.sleep(self._seconds)


class SlowSink(Sink[int]):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def create_writer(self, context: WriterInitContext) -> SlowWriter:
        return SlowWriter(self._seconds)


class Numbers(SourceFunction[int]):
    """Numbers from 0 on.

    :param rate: how many a second; None: as many as are taken.
    """

    def __init__(self, rate: float | None = None) -> None:
        self._rate = rate
        self._going = True

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        began, number = time.time(), 0
        while self._going:
            if self._rate is not None and number > (time.time() - began) * self._rate:
                time.sleep(0.001)
                continue
            ctx.collect(number)
            number += 1

    def cancel(self) -> None:
        self._going = False


class Ends(ProcessWindowFunction[int, int, int, Any]):
    """When the window ended (ms)."""

    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterable[int]:
        yield context.window().end


Program = Callable[[StreamExecutionEnvironment, str], DataStream]
"""The environment and Kafka's address -> what is printed."""


def behind_nothing(seconds: float) -> Program:
    return lambda env, _: env.from_sequence(1, MANY).map(Slow(seconds), Types.LONG())


def behind_exchange(seconds: float, only: int | None = None) -> Program:
    def program(env: StreamExecutionEnvironment, _: str) -> DataStream:
        keyed = env.from_sequence(1, MANY).key_by(lambda value: value % KEYS, Types.LONG())
        return keyed.map(Slow(seconds, only), Types.LONG())

    return program


def last_of_three(seconds: float) -> Program:
    def program(env: StreamExecutionEnvironment, _: str) -> DataStream:
        keyed = env.from_sequence(1, MANY).key_by(lambda value: value % KEYS, Types.LONG())
        second = keyed.map(lambda value: value, Types.LONG())
        return second.rebalance().map(Slow(seconds), Types.LONG())

    return program


def slow_sink(seconds: float) -> Program:
    def program(env: StreamExecutionEnvironment, _: str) -> DataStream:
        numbers = env.from_sequence(1, MANY)
        numbers.sink_to(SlowSink(seconds))
        return numbers

    return program


def calls(seconds: float) -> Program:
    def program(env: StreamExecutionEnvironment, _: str) -> DataStream:
        numbers = env.from_sequence(1, MANY)
        return AsyncDataStream.unordered_wait(numbers, Ask(seconds), Time.seconds(60), CAPACITY, Types.LONG())

    return program


def behind_function(rate: float | None, seconds: float) -> Program:
    return lambda env, _: env.add_source(Numbers(rate), "numbers", Types.LONG()).map(Slow(seconds), Types.LONG())


def uneven(env: StreamExecutionEnvironment, _: str) -> DataStream:
    return env.from_sequence(1, MANY).map(Uneven(), Types.LONG())


def bounded(env: StreamExecutionEnvironment, _: str) -> DataStream:
    return env.from_sequence(1, FEW).map(Slow(0.1), Types.LONG())


def from_kafka(env: StreamExecutionEnvironment, bootstrap: str) -> DataStream:
    reading = KafkaSource.builder().set_bootstrap_servers(bootstrap).set_topics(TOPIC)
    reading.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source = reading.set_value_only_deserializer(SimpleStringSchema()).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "waiting").map(Slow(0.001), Types.STRING())


def windows(env: StreamExecutionEnvironment, _: str) -> DataStream:
    numbers = env.add_source(Numbers(100), "numbers", Types.LONG())
    keyed = numbers.key_by(lambda value: value % 4, Types.LONG())
    return keyed.window(TumblingProcessingTimeWindows.of(Time.seconds(1))).process(Ends(), Types.LONG())


@dataclass(frozen=True)
class Shape:
    """A program and what is known of it."""

    what: str
    program: Program
    record: float
    """seconds that one takes"""
    parallelism: int = 2
    channels: int = 1
    """of a subtask of the slow step: records may be waiting in each when a checkpoint begins"""
    checkpoints: bool = True
    ends: bool = False
    """by itself"""
    windows: bool = False
    """what is printed is when a window ended"""


TIMES = {"1ms": 0.001, "10ms": 0.01, "1s": 1.0}


def _shapes() -> dict[str, Shape]:
    found: dict[str, Shape] = {}
    for name, took in TIMES.items():
        found[f"a-{name}"] = Shape("behind the source", behind_nothing(took), took)
        found[f"b-{name}"] = Shape("behind key_by", behind_exchange(took), took, channels=2)
        found[f"c-{name}"] = Shape("last of three stages", last_of_three(took), took, channels=2)
        found[f"d-{name}"] = Shape("one subtask of four", behind_exchange(took, 1), took, parallelism=4, channels=4)
        found[f"e-{name}"] = Shape("a sink", slow_sink(took), took)
    found["f"] = Shape("1 us and 100 ms in turn", uneven, 0.1)
    found["g-10ms"] = Shape("async calls", calls(0.01), 0.01)
    found["g-1s"] = Shape("async calls", calls(1.0), 1.0)
    found["h"] = Shape("behind a flood", behind_function(None, 0.01), 0.01)
    found["i"] = Shape("waiting records of Kafka", from_kafka, 0.001)
    found["j"] = Shape("200/s, each 20 ms", behind_function(200, 0.02), 0.02, checkpoints=False)
    found["k"] = Shape("400 of 100 ms", bounded, 0.1, checkpoints=False, ends=True)
    found["l"] = Shape("windows of 1 s", windows, 0.0, checkpoints=False, windows=True)
    return dict(sorted(found.items(), key=lambda item: item[0][0]))


SHAPES = _shapes()


def mark(*words: object) -> None:
    print(MARK, *words, flush=True)


def run(shape: Shape, folder: str, kafka: str, settings: list[str]) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    for each in settings:
        key, _, value = each.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(shape.parallelism)
    env.from_sequence(1, 8).rebalance().map(lambda value: value, Types.LONG()).print()
    env.execute("first")
    if shape.checkpoints:
        env.enable_checkpointing(1_000)
    shape.program(env, kafka).print()
    mark("began")
    client = env.execute_async("slow")

    def listen() -> None:
        if sys.stdin.readline().strip() == "stop":
            try:
                client.stop_with_savepoint(False, f"{folder}/savepoints").result()
            except Exception as error:
                mark("failed", type(error).__name__, str(error).replace("\n", " ")[:200])
            else:
                mark("heard")

    threading.Thread(target=listen, daemon=True).start()
    try:
        client.wait()  # type: ignore[attr-defined]  # as execute() does: it hears Ctrl-C
    except KeyboardInterrupt:
        mark("interrupted")
    else:
        mark("ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=SHAPES)
    parser.add_argument("folder")
    parser.add_argument("--kafka", default="", help="where it is")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    run(SHAPES[given.name], given.folder, given.kafka, given.set)


if __name__ == "__main__":
    main()
