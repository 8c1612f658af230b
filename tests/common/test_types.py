from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row, RowKind, row_of

VALUES = st.one_of(st.none(), st.integers(), st.text(max_size=5), st.tuples(st.integers()))
NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True), max_size=5, unique=True)
KINDS = st.sampled_from(RowKind)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    names = draw(st.none() | NAMES)
    size = draw(st.integers(0, 5)) if names is None else len(names)
    return row_of([draw(VALUES) for _ in range(size)], names, draw(KINDS))


def test_reads_by_position_name_and_attribute() -> None:
    row = Row(name="Ann", age=41)
    assert (row[0], row["age"], row.name, row[0:2]) == ("Ann", 41, "Ann", ["Ann", 41])
    assert list(row) == ["Ann", 41]
    assert len(row) == 2
    assert "age" in row
    assert "Ann" not in row
    assert "Ann" in Row("Ann", 41)


def test_writes_by_position_and_name() -> None:
    row = Row(name="Ann", age=41)
    row["age"], row[0] = 42, "Bob"
    assert row == Row(name="Bob", age=42)


def test_attributes_can_not_be_set() -> None:
    with pytest.raises(AttributeError):
        Row(a=1).a = 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("row", [Row(1), Row(b=1)])
def test_unknown_names(row: Row) -> None:
    with pytest.raises(ValueError, match="'a'"):
        row["a"]
    with pytest.raises(ValueError, match="'a'"):
        row["a"] = 1
    with pytest.raises(AttributeError):
        _ = row.a


def test_refuses_positional_and_named_values() -> None:
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)


def test_template() -> None:
    person = Row("name", "age")
    ann = person("Ann", 41)
    assert ann == Row(name="Ann", age=41)
    assert repr(person) == "<Row('name', 'age')>"
    assert repr(ann) == "Row(name='Ann', age=41)"
    with pytest.raises(ValueError, match="names 2 fields, got 3"):
        person(1, 2, 3)


def test_as_dict() -> None:
    row = Row(key=1, value=Row(name="a", tags=[Row(x=1)], more={"k": Row(y=2)}))
    assert row.as_dict() == {"key": 1, "value": Row(name="a", tags=[Row(x=1)], more={"k": Row(y=2)})}
    assert row.as_dict(True) == {"key": 1, "value": {"name": "a", "tags": [{"x": 1}], "more": {"k": {"y": 2}}}}
    with pytest.raises(TypeError, match="without field names"):
        Row(1).as_dict()


def test_row_kinds() -> None:
    row = Row.of_kind(RowKind.DELETE, 1)
    assert row.get_row_kind() is RowKind.DELETE
    assert row != Row(1)
    row.set_row_kind(RowKind.INSERT)
    assert row == Row(1)
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]


def test_fields_by_names() -> None:
    row = Row(a=1, b=2, c=3)
    assert row.get_fields_by_names(["c", "a"]) == [3, 1]
    assert row.get_fields_by_names(["a", "b", "c"]) == [1, 2, 3]
    assert Row(1, 2).get_fields_by_names(["x", "y"]) == [1, 2]
    with pytest.raises(ValueError, match="'z'"):
        row.get_fields_by_names(["z", "a", "b"])


def test_the_order_of_named_fields_does_not_matter() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1, b=2) != Row(a=2, b=1)
    assert Row(1, 2) != Row(a=1, b=2)
    assert Row(1, 2) != (1, 2)


def test_a_copy_has_its_own_values() -> None:
    row = Row(a=[1])
    shallow, deep = copy.copy(row), copy.deepcopy(row)
    row[0].append(2)
    row[0] = None
    assert (shallow, deep) == (Row(a=[1, 2]), Row(a=[1]))


@given(st.lists(rows()), st.sampled_from(range(pickle.HIGHEST_PROTOCOL + 1)))
def test_pickling(batch: list[Row], protocol: int) -> None:
    def content(row: Row) -> tuple[Any, ...]:
        return type(row), list(row), row._fields, row.get_row_kind()

    restored = pickle.loads(pickle.dumps(batch, protocol))
    assert list(map(content, restored)) == list(map(content, batch))


def test_pickled_rows_share_their_names() -> None:
    names = ["a", "b"]
    first, second = pickle.loads(pickle.dumps([row_of([1, 2], names), row_of([3, 4], names)]))
    assert first._fields is second._fields
    assert len(pickle.dumps([row_of([1, 2], names)] * 100)) < 500


@given(rows(), st.randoms())
def test_equality_is_that_of_fields_by_name(row: Row, random: Any) -> None:
    if row._fields is None:
        return
    order = list(range(len(row)))
    random.shuffle(order)
    shuffled = row_of([row[i] for i in order], [row._fields[i] for i in order], row.get_row_kind())
    assert row == shuffled
    assert hash(row) == hash(shuffled)
