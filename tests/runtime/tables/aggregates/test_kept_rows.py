"""Functions of Series on inputs that only add rows: their rows are kept as they came."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import check_table, element, few

from millrace.relational import types as t
from millrace.relational.nodes import WindowSpec
from millrace.relational.rex import AggCall, Ref
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.retained_rows import KeptRows
from millrace.runtime.tables.aggregates.retained_values import KeptPlaces
from millrace.runtime.tables.state import keyed_map
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.table.udf import udaf
from millrace.testing import EndInput

TYPES = (t.VarCharType(1), t.DoubleType(), t.VarCharType(5), t.TimestampType(3))
START = datetime(2024, 1, 1)
Row = tuple[str, float | None, str | None, int]


def in_order() -> AggCall:
    """The rows one after the other: what comes in another order, or twice, or not at all, is seen."""

    def told(numbers: pd.Series, texts: pd.Series) -> str:
        return " ".join(f"{number}{text}" for number, text in zip(numbers, texts))

    function = udaf(told, result_type="STRING", func_type="pandas", name="told")
    return AggCall("told", (Ref(TYPES[1], 1), Ref(TYPES[2], 2)), t.VarCharType(1000), udf=function)


def told(rows: list[Row]) -> str:
    return " ".join(f"{float('nan') if number is None else number}{text}" for _, number, text, _ in rows)


def script(rows: list[Row]) -> list[Any]:
    return [*(element((*row[:3], START + timedelta(seconds=row[3])), TYPES) for row in rows), EndInput()]


numbers = st.one_of(st.none(), st.sampled_from([0.0, -0.5, 3.25, float("nan")]))
rows_in = st.lists(
    st.tuples(st.sampled_from("ab"), numbers, st.one_of(st.none(), st.sampled_from(["x", "yy"])), st.integers(0, 30)),
    min_size=1,
    max_size=12,
)


@few
@given(rows_in)
def test_groups(rows: list[Row]) -> None:
    config = GroupAggregate(keys=(0,), key_types=TYPES[:1], calls=(in_order(),))
    wanted: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        wanted[row[0]].append(row)
    check_table(config, script(rows), [(key, told(found)) for key, found in wanted.items()], disk=True)


@few
@given(rows_in)
def test_windows(rows: list[Row]) -> None:
    config = WindowAggregate(
        window=WindowSpec("TUMBLE", 10_000), time=3, zoned=False, keys=(0,), key_types=TYPES[:1], calls=(in_order(),)
    )
    wanted: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        wanted[row[0], row[3] // 10].append(row)
    check_table(config, script(rows), [(key, told(found)) for (key, _), found in wanted.items()])


def test_sessions_that_become_one() -> None:
    """What the later one has comes after what the earlier one has."""
    config = WindowAggregate(
        window=WindowSpec("SESSION", 5000), time=3, zoned=False, keys=(0,), key_types=TYPES[:1], calls=(in_order(),)
    )
    rows: list[Row] = [("a", 1.0, "x", 0), ("a", 2.0, "y", 8), ("a", 3.0, "z", 8), ("a", 4.0, "v", 4)]
    expected = [("a", told(rows))]
    check_table(config, script(rows), expected, view=lambda row: (row[0], " ".join(sorted(row[1].split()))))


def test_rows_that_an_earlier_version_kept() -> None:
    """An entry for each different row, as a savepoint may have it."""
    types = [pa.float64(), pa.string()]
    backend = KeyedStateBackend()
    entries = keyed_map(backend, "values-0")
    at, slots = ("a",), [0]
    earlier = KeptPlaces(entries, types, False, lambda found: found, None)

    def add(kept: Any, values: list[float | None], texts: list[str]) -> None:
        args = [pa.array(values, types[0]), pa.array(texts, types[1])]
        ids = pa.array([0] * len(values), pa.int64()).to_numpy()
        kept.update(ids, args, pa.array([1] * len(values), pa.int64()), [at], slots)

    add(earlier, [1.0, float("nan"), 1.0, None], ["x", "y", "x", "z"])
    now = KeptRows(entries, types, lambda args, length: (length, [repr(arg.to_pylist()) for arg in args]))
    add(now, [2.0], ["w"])
    assert now.results([at], slots) == [(5, ["[1.0, nan, 1.0, None, 2.0]", "['x', 'y', 'x', 'z', 'w']"])]
    now.absorb(("b",), 0, at, slots[0])
    assert now.results([("b",)], [5]) == now.results([at], slots)
