"""Programs with many sources, branches and sinks run in one execution, and nothing runs twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common import Encoder, Types
from millrace.datastream import (
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
)
from millrace.datastream.connectors.file_system import BucketAssigner, FileSink
from millrace.datastream.state import ValueStateDescriptor

ODD = OutputTag("odd", Types.LONG())


def log(path: str, who: str, value: Any) -> None:
    """One line per call: appending a short line is atomic, also for several processes."""
    with open(path, "a") as file:
        file.write(f"{who} {value}\n")


class Logged(MapFunction):
    def __init__(self, path: str, who: str, add: int = 0) -> None:
        self.path, self.who, self.add = path, who, add

    def map(self, value: Any) -> Any:
        log(self.path, self.who, value)
        return value + self.add


class Parity(ProcessFunction):
    def __init__(self, path: str) -> None:
        self.path = path

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        log(self.path, "parity", value)
        if value % 2:
            yield ODD, value
        else:
            yield value


class Twice(FlatMapFunction):
    def __init__(self, path: str) -> None:
        self.path = path

    def flat_map(self, value: int) -> Iterator[int]:
        log(self.path, "twice", value)
        yield from (value, value)


class Sum(KeyedProcessFunction):
    """The sum of a key's elements, at the end."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        log(self.path, "sum", value)
        self.sum.update((self.sum.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int]]:
        log(self.path, "timer", ctx.get_current_key())
        yield ctx.get_current_key(), self.sum.value()


class WriteLog(SinkFunction[int]):
    def __init__(self, path: str) -> None:
        self.path = path

    def invoke(self, value: int, context: SinkFunction.Context) -> None:
        log(self.path, "sink", value)


def written(folder: Path) -> list[str]:
    """The lines of all visible files."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return sorted(line for path in files for line in path.read_text().splitlines())


@pytest.mark.parametrize("batch", [False, True])
def test_sources_branches_diamond_side_outputs_and_sinks(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, batch: bool
) -> None:
    calls, files = str(tmp_path / "calls"), tmp_path / "files"
    env = environment(2, batch)
    numbers = env.from_sequence(0, 9).map(Logged(calls, "numbers"))
    letters = env.from_collection([100, 101]).map(Logged(calls, "letters"))

    # A diamond: two branches of one stream meet again, behind an exchange each.
    left = numbers.rebalance().map(Logged(calls, "left", 1000))
    right = numbers.filter(lambda value: value < 5).rebalance().flat_map(Twice(calls))
    together: DataStream = left.union(right, letters)

    even = together.process(Parity(calls))
    odd = even.get_side_output(ODD)
    sums = together.key_by(lambda value: value % 3).process(Sum(calls))

    even.print("even")
    odd.add_sink(WriteLog(calls))
    sink = FileSink.for_row_format(str(files), Encoder.simple_string_encoder())
    sums.map(str, Types.STRING()).sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    with sums.execute_and_collect() as found:
        collected = sorted(found)

    inner = [*range(1000, 1010), *[value for value in range(5) for _ in range(2)], 100, 101]
    by_key = {key: sum(value for value in inner if value % 3 == key) for key in range(3)}
    assert collected == sorted(by_key.items())
    assert written(files) == sorted(str(pair) for pair in by_key.items())
    texts = sorted(line.partition("> ")[2] for line in watch.lines)
    assert texts == sorted(str(value) for value in inner if value % 2 == 0)

    once = {
        "numbers": range(10),
        "letters": (100, 101),
        "left": range(10),
        "twice": range(5),
        "parity": inner,
        "sum": inner,
        "timer": range(3),
        "sink": [value for value in inner if value % 2],
    }
    expected = Counter(f"{who} {value}" for who, values in once.items() for value in values)
    assert Counter(Path(calls).read_text().splitlines()) == expected

    assert watch.taken_in().most_common(1)[0][1] == len(inner)
    assert sum(result.records for result in watch.epochs) == 12
    assert len(watch.epochs) == 1 or not batch


def test_an_operator_without_readers_still_runs(environment: MakeEnvironment, tmp_path: Path) -> None:
    calls = str(tmp_path / "calls")
    env = environment(1)
    env.from_collection([1, 2, 3]).map(Logged(calls, "lonely"))
    result = env.execute()
    assert Path(calls).read_text().splitlines() == ["lonely 1", "lonely 2", "lonely 3"]
    assert result.get_accumulator_result("millrace.records-read") == 3
    assert result.get_net_runtime() >= 0
