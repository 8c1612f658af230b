"""Keys of several kinds in one stream: what Python calls equal is one key, in any number of subtasks and after a
restore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.programs import ListSource

from millrace.common import Types, WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.operators.job_graph import JobGraph

KEYS = [1, True, 1.0, Decimal("1.00"), "1", b"1", 0, False, -0.0, "", (1, "a"), (True, "a"), (1.0, "a"), ("1", "a"),
        2**53, float(2**53), float("nan"), 2.5, Decimal("2.5"), "True"]  # fmt: skip
ROWS = [(n, KEYS[n * 7 % len(KEYS)]) for n in range(6 * len(KEYS))]


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


def job_of(parallelism: int, records: int | None) -> JobGraph:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        source = env.from_source(ListSource(ROWS), WatermarkStrategy.no_watermarks(), "rows").uid("rows")
        keyed = source.set_parallelism(1).key_by(lambda value: value, key_type=Types.PICKLED_BYTE_ARRAY())
        return keyed.process(Counting()).uid("counting")

    return collecting(build, parallelism, epoch_records=records)


def highest(results: Iterable[tuple[Any, int]]) -> dict[str, int]:
    """How far each key was counted, under a name that equal keys share."""
    found: dict[str, int] = {}
    for value, count in results:
        found[_name(value)] = max(count, found.get(_name(value), 0))
    return found


def _name(value: Any) -> str:
    if isinstance(value, tuple):
        return str(tuple(map(_name, value)))
    return f"number {float(value) + 0.0}" if isinstance(value, (int, float, Decimal)) else repr(value)


def expected() -> dict[str, int]:
    return dict(Counter(_name(value) for _, value in ROWS))


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_what_is_equal_is_one_key(parallelism: int, tmp_path: Path) -> None:
    assert highest(SavedJob(job_of(parallelism, None), tmp_path).finish()) == expected()


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_also_after_a_restore(parallelism: int, source: str, tmp_path: Path) -> None:
    first = SavedJob(job_of(2, 25), tmp_path / "first", 1)
    first.epoch()
    checkpoint = first.epoch(tmp_path / "saved").checkpoint
    second = SavedJob(job_of(parallelism, 25), tmp_path / "second")
    second.restore(str(tmp_path / "saved") if source == "savepoint" else str(checkpoint))
    assert highest([*first.collected, *second.finish()]) == expected()
