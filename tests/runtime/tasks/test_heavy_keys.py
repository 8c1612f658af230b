"""The sketch of heavy keys finds those that are heavy, shows none that is not, and stays small."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rows import Rows
from millrace.runtime.exchange.partitioners import Rebalance
from millrace.runtime.tables.exchange import ByColumns
from millrace.runtime.tasks import task_figures
from millrace.runtime.tasks.task_figures import COUNTERS, Sketch, Watched, watched
from millrace.testing import run_locally


@given(st.lists(st.integers(0, 60), max_size=256), st.lists(st.integers(1, 100), min_size=1))
def test_while_all_are_looked_at_nothing_is_overstated(keys: list[int], sizes: list[int]) -> None:
    sketch, at, turn = Sketch(), 0, 0
    while at < len(keys):
        sketch.see(keys[at : at + sizes[turn % len(sizes)]])
        at += sizes[turn % len(sizes)]
        turn += 1
    counts = Counter(keys)
    shown = dict(sketch.heaviest())
    assert all(share <= counts[int(key)] / len(keys) + 1e-9 for key, share in shown.items())
    if len(counts) <= COUNTERS:
        expected = sorted((count / len(keys) for count in counts.values()), reverse=True)[: task_figures.SHOWN]
        assert list(shown.values()) == pytest.approx([share for share in expected if share >= task_figures.LEAST_SHARE])


def test_a_heavy_key_among_many_is_found_in_a_sample() -> None:
    random, sketch = Random(1), Sketch()
    for _ in range(200):
        sketch.see([7 if random.random() < 0.3 else random.randrange(10_000) for _ in range(5_000)])
    ((key, share), *others) = sketch.heaviest()
    assert key == "7"
    assert share == pytest.approx(0.3, abs=0.06)
    assert not others
    assert len(sketch._counts) == COUNTERS


def test_a_period_in_the_data_hides_no_key() -> None:
    sketch = Sketch()
    for _ in range(500):
        sketch.see([n % 512 % 4 for n in range(4_096)])
    shown = dict(sketch.heaviest())
    assert shown.keys() == {"0", "1", "2", "3"}
    assert all(share == pytest.approx(0.25, abs=0.06) for share in shown.values())


def test_what_was_long_ago_counts_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_figures, "FORGET_AT", 500)
    sketch = Sketch()
    for _ in range(10):
        sketch.see(["old"] * 100)
    for _ in range(50):
        sketch.see(["new"] * 100)
    assert [key for key, _ in sketch.heaviest()] == ["'new'"]


def test_keys_of_rows_and_keys_without_a_hash() -> None:
    rows = Rows(pa.RecordBatch.from_pydict({"a": [1, 1, 2, 1], "b": ["x", "x", "y", "x"]}), None)
    by_columns = watched([(0, ByColumns((0, 1), 128))])
    assert by_columns is not None
    by_columns.see([rows], None, 0)
    assert by_columns.report(10_000) == (("(1, 'x')", 0.75), ("(2, 'y')", 0.25))
    assert by_columns.report(10_001) is None
    assert watched([(0, Rebalance())]) is None
    unhashable = Watched({0: (0,)})
    unhashable.see([], [[1]], 0)
    unhashable.see([], [1], 0)
    assert unhashable.report(10_000) is None


def test_two_inputs_have_their_keys_in_different_columns() -> None:
    wide = Rows(pa.RecordBatch.from_pydict({"a": [0, 0], "b": ["x", "x"]}), None)
    narrow = Rows(pa.RecordBatch.from_pydict({"k": ["x", "x"]}), None)
    both = watched([(0, ByColumns((1,), 128)), (1, ByColumns((0,), 128)), (2, Rebalance())])
    assert both is not None
    both.see([wide], None, 0)
    both.see([narrow], None, 1)
    both.see([narrow], None, 2)
    assert both.report(10_000) == (("'x'", 1.0),)


def test_the_driver_hears_of_them() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_sequence(1, 300).map(lambda n: 1 if n % 3 else n)
    numbers.key_by(lambda n: n).map(lambda n: n, Types.LONG()).print()
    found: dict[str, Any] = {}
    for epoch in run_locally(env).epochs:
        for report in epoch.reports:
            found |= {key: (share, report.records_in) for key, share in report.heavy_keys or ()}
    share, records = found["1"]
    assert share * records == pytest.approx(200)
