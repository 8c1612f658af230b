"""Values go into columns and come back as exactly the same values, through Parquet, too."""

from __future__ import annotations

import collections
import datetime
import decimal
import io
import json
import pickle
import threading
import uuid
import zoneinfo
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.checkpoint.sameness import same
from tests.checkpoint.stored_classes import (
    Access,
    Checked,
    Colour,
    Doubled,
    Empty,
    HalfSlotted,
    Listing,
    Loose,
    Order,
    OwnPickle,
    Pair,
    Plain,
    Point,
    Reduced,
    Slotted,
    Tagged,
    Tail,
    Text,
    Word,
)

from millrace.checkpoint.columns import check, decode, encode
from millrace.checkpoint.pickles import encode_pickles
from millrace.common.time import Instant
from millrace.common.types import Row, RowKind, row_of
from millrace.datastream.window import CountWindow, GlobalWindow, TimeWindow

UTC = datetime.timezone.utc

SCALARS = [
    st.integers(-(2**63), 2**63 - 1),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(),
    st.text(st.characters(codec=None, categories=["Cs", "Lu"])),
    st.binary(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.datetimes(timezones=st.timezones(), allow_imaginary=False),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.decimals(),
    st.uuids(),
    st.complex_numbers(),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.floats(width=16).map(np.float16),
    st.booleans().map(np.bool_),
    st.sampled_from(Colour),
    st.sampled_from([Access.READ, Access.WRITE, Access.READ | Access.WRITE]),
    st.just(Word.A),
    st.text().map(Text),
    st.builds(Instant, st.integers(0, 9), st.integers(0, 9)),
    st.builds(Checked, st.text()),
]
KINDS = st.sampled_from(RowKind)
NAMES = st.lists(st.sampled_from(["a", "b", "c", "window_start", "ü", "row kind", "", "\ud800"]), unique=True)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Strategies of columns: all values of one have one shape, or any."""
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: st.tuples(*parts)),
        inner.map(lambda part: st.lists(part, max_size=3)),
        inner.map(lambda part: st.lists(part, max_size=3).map(tuple)),
        st.lists(inner, max_size=3).map(lambda parts: st.tuples(*parts).map(list)),
        inner.map(lambda part: st.dictionaries(st.text(max_size=3), part, max_size=3)),
        inner.map(lambda part: st.dictionaries(st.integers(0, 3) | st.booleans() | st.none(), part, max_size=3)),
        st.tuples(NAMES, inner).map(lambda pair: st.fixed_dictionaries(dict.fromkeys(*pair))),
        inner.map(lambda part: st.builds(Row, part, part)),
        inner.map(lambda part: st.builds(lambda a, b, kind: Row.of_kind(kind, a=a, b=b), part, part, KINDS)),
        st.tuples(NAMES, inner).map(
            lambda pair: st.lists(pair[1], min_size=len(pair[0]), max_size=len(pair[0])).map(
                lambda values: row_of(values, pair[0])
            )
        ),
        inner.map(lambda part: st.builds(Order, part, part, part)),
        inner.map(lambda part: st.builds(Point, part, part)),
        inner.map(lambda part: st.builds(Tail, part)),
        inner.map(lambda part: st.builds(HalfSlotted, part, part, part)),
        inner.map(lambda part: st.builds(Pair, part, part)),
        inner.map(lambda part: st.builds(Loose, part)),
        inner.map(lambda part: st.builds(Plain, part)),
        inner.map(lambda part: st.builds(Slotted, part)),
        inner.map(lambda part: st.one_of(part, st.integers())),
        inner.map(lambda part: st.one_of(part, st.none())),
    )


SHAPES = st.recursive(st.sampled_from(SCALARS), _containers, max_leaves=6)
COLUMNS = SHAPES.flatmap(lambda shape: st.lists(shape, max_size=6))


def through_parquet(array: Any) -> Any:
    """The column as a reader of its file finds it."""
    buffer = io.BytesIO()
    pq.write_table(pa.table({"column": array}), buffer)
    return pq.read_table(buffer)["column"]


def there_and_back(values: list[Any]) -> tuple[list[Any], str]:
    array, description = encode(values)
    assert len(array) == len(values)
    described = json.loads(json.dumps(description))
    assert check(described) == []
    return decode(through_parquet(array), described), described["form"]


@given(COLUMNS)
@example([])
@example([None, None])
@example([(1, "a"), None, (None, "b")])
@example([[], [1, None], None, []])
@example([{}, {"a": None}, None])
@example([Row(a=1), Row(b=1)])
@example([Row(a=1), Row(1)])
@example([{"a": 1, "b": 2}, {"b": 2, "a": 1}])
@example([{Word.A: 1}, {"a": 1}])
@example([1, True, 1.0])
@example([datetime.datetime(2024, 1, 1, fold=1)])
@example([2**63, -(2**63)])
@example([10**5000])
@example([-0.0, 0.0, float("nan"), float("inf")])
def test_values_come_back_exactly(values: list[Any]) -> None:
    assert same(there_and_back(values)[0], values)


@given(COLUMNS, st.data())
def test_rows_can_be_left_out_before_they_are_read(values: list[Any], data: st.DataObject) -> None:
    array, description = encode(values)
    wanted = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    left = pa.table({"column": array}).filter(pa.array(wanted, pa.bool_()))["column"]
    assert same(decode(left, description), [value for value, is_wanted in zip(values, wanted) if is_wanted])
    half = len(values) // 2
    assert same(decode(array.slice(half), description), values[half:])


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([1, 2], "int"),
        ([True], "bool"),
        ([1.5], "float"),
        (["a"], "str"),
        (["\ud800"], "str with surrogates"),
        ([b"a"], "bytes"),
        ([2**70], "big int"),
        ([None], "none"),
        ([datetime.date(2024, 1, 1)], "date"),
        ([datetime.datetime(2024, 1, 1)], "datetime"),
        ([datetime.datetime(2024, 1, 1, tzinfo=UTC)], "datetime in UTC"),
        ([datetime.time(1, 2)], "time"),
        ([datetime.timedelta(1)], "timedelta"),
        ([decimal.Decimal("1.10")], "decimal"),
        ([uuid.UUID(int=5)], "uuid"),
        ([np.int32(1)], "numpy"),
        ([Colour.RED], "enum"),
        ([(1, "a")], "tuple"),
        ([(1,), (1, 2)], "tuples"),
        ([[1, 2], []], "lists"),
        ([[1, "a"], [2, "b"]], "list"),
        ([{"a": 1}, {"a": 2}], "dict"),
        ([{"a": 1}, {"b": 2}], "dicts"),
        ([{1: 2}], "dicts"),
        ([Row(a=1)], "row"),
        ([Row(1)], "row"),
        ([Order(1)], "dataclass"),
        ([Point(1.0)], "dataclass"),
        ([Checked("a")], "dataclass"),
        ([Instant(1, 2)], "dataclass"),
        ([Pair(1, 2)], "named tuple"),
        ([TimeWindow(1, 2)], "named tuple"),
        ([GlobalWindow(), GlobalWindow()], "global window"),
        ([CountWindow(1)], "count window"),
    ],
)
def test_values_of_one_shape_have_a_column_that_others_can_read(values: list[Any], form: str) -> None:
    back, found = there_and_back([*values, None])
    assert found == form
    assert same(back, [*values, None])


class Local:
    """What is defined in functions or changed by hand has no form of its own."""


def _with_extra(value: Any) -> Any:
    object.__setattr__(value, "extra", 1)
    return value


def _without_slot() -> Tail:
    value = Tail()
    del value.next
    return value


@pytest.mark.parametrize(
    "values",
    [
        [1, "a"],
        [1, 1.0],
        [(1, 2), [1, 2]],
        [{}, {1: {1}}],
        [{None: 1}],
        [{1, 2}],
        [collections.OrderedDict(a=1)],
        [bytearray(b"a")],
        [1j],
        [np.float16(1.0)],
        [np.datetime64("2024-01-01")],
        [Text("a")],
        [datetime.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))],
        [datetime.datetime(2024, 1, 1, fold=1)],
        [datetime.timedelta.max],
        [Access.READ | Access.WRITE],
        [Plain(1)],
        [Slotted(1)],
        [Empty()],
        [Reduced(1)],
        [OwnPickle(1)],
        [Doubled(1)],
        [Listing("a")],
        [_with_extra(Order(1))],
        [CountWindow("a")],
        [int, Plain, len],
    ],
)
def test_other_values_are_pickled(values: list[Any]) -> None:
    back, form = there_and_back(values)
    assert form == "pickle"
    assert same(back, values)


def test_a_dataclass_keeps_what_is_no_field() -> None:
    (back,), form = there_and_back([_with_extra(Order(1))])
    assert form == "pickle"
    assert back.extra == 1
    (nothing,), form = there_and_back([_without_slot()])
    assert form == "pickle"
    assert not hasattr(nothing, "next")


def test_a_named_tuple_keeps_its_attributes() -> None:
    value = Tagged(1, 2)
    value.tag = "x"  # type: ignore[attr-defined]
    (back,), form = there_and_back([value])
    assert (form, back, back.tag) == ("pickle", (1, 2), "x")  # type: ignore[attr-defined]


def test_instances_are_made_as_pickle_makes_them() -> None:
    value = Checked("abc")
    made = Checked.made
    (back,), _ = there_and_back([value])
    assert (back, back.length) == (value, 3)
    assert Checked.made == made


def test_local_classes_and_functions_go_by_value() -> None:
    from dataclasses import dataclass

    @dataclass
    class Inner:
        a: int

    def double(value: int) -> int:
        return 2 * value

    (back, call), form = there_and_back([Inner(1), double])
    assert form == "pickle"
    assert back.a == 1
    assert call(4) == 8


def test_values_that_contain_themselves_are_one_pickle() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    looping = Tail()
    looping.next = (looping,)
    back, form = there_and_back([endless, endless[:1]])
    assert form == "pickle"
    assert back[0][1] is back[0]
    (tail,), form = there_and_back([looping])
    assert form == "pickle"
    assert tail.next[0] is tail


def test_what_cannot_be_pickled_is_an_error() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        encode([threading.Lock()])


def test_pandas_reads_the_columns() -> None:
    columns = {
        "int": [1, 2],
        "text": ["a", None],
        "pair": [(1, "x"), (2, "y")],
        "order": [Order(1, ["t"]), Order(2, [])],
        "counts": [{"a": 1}, {"b": 2, "c": 3}],
        "colour": [Colour.RED, Colour.GREEN],
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: encode(values)[0] for name, values in columns.items()}), buffer)
    found = pd.read_parquet(buffer).to_dict("list")
    assert found["int"] == [1, 2]
    assert found["text"] == ["a", None]
    assert found["pair"] == [{"f0": 1, "f1": "x"}, {"f0": 2, "f1": "y"}]
    assert [order["id"] for order in found["order"]] == [1, 2]
    assert [list(order["tags"]) for order in found["order"]] == [["t"], []]
    assert found["counts"] == [[("a", 1)], [("b", 2), ("c", 3)]]
    assert found["colour"] == ["RED", "GREEN"]


@given(st.lists(st.recursive(st.integers() | st.builds(Order, st.integers()), st.lists, max_leaves=4).map(Plain)))
def test_pickles_can_be_read_without_the_column(values: list[Plain]) -> None:
    array, _ = encode_pickles(values)
    assert [pickle.loads(each) for each in array.to_pylist()] == values
