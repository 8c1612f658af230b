from __future__ import annotations

import datetime as dt
import enum
import pickle
import struct
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ids import shown

from millrace.common.coercion import TypeMismatchError, coercer
from millrace.common.time import Instant
from millrace.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo, TypeInformation, Types
from millrace.common.types import Row, RowKind, row_of

INT, STRING, DOUBLE = Types.INT(), Types.STRING(), Types.DOUBLE()


def coerce(type_info: TypeInformation, values: list[Any]) -> list[Any]:
    convert = coercer(type_info)
    assert convert is not None
    return convert(values)


def single(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


NAMES = ["a", "b"]
PAIR = Types.ROW_NAMED(NAMES, [INT, STRING])

RIGHT: list[tuple[TypeInformation, list[Any]]] = [
    (INT, [1, -(2**31), 2**31 - 1]),
    (Types.LONG(), [2**63 - 1, -(2**63)]),
    (Types.BIG_INT(), [2**100]),
    (DOUBLE, [1.5, float("nan")]),
    (Types.FLOAT(), [1.5, 0.0]),
    (STRING, ["", "é"]),
    (Types.CHAR(), ["x"]),
    (Types.BOOLEAN(), [True, False]),
    (Types.BIG_DEC(), [Decimal("1.10")]),
    (Types.SQL_DATE(), [dt.date(2020, 1, 1)]),
    (Types.SQL_TIME(), [dt.time(1, 2, 3, 4000)]),
    (Types.SQL_TIMESTAMP(), [dt.datetime(2020, 1, 1, 0, 0, 0, 5000)]),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), [dt.datetime(2020, 1, 1, 0, 0, 0, 5)]),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), [dt.time(0, 0, 0, 5)]),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), [dt.date(2020, 1, 1)]),
    (Types.INSTANT(), [Instant(1, 2)]),
    (Types.TUPLE([INT, STRING]), [(1, "a"), (None, None)]),
    (Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), [(object(),), (None,)]),
    (PAIR, [row_of([1, "a"], NAMES), Row(a=None, b=None), Row.of_kind(RowKind.DELETE, a=1, b="x")]),
    (ExternalTypeInfo(PAIR), [row_of([1, "a"], NAMES)]),
    (Types.LIST(INT), [[1, None], []]),
    (Types.LIST(Types.PICKLED_BYTE_ARRAY()), [[object()]]),
    (Types.PRIMITIVE_ARRAY(INT), [[1, 2], []]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"ab"]),
    (Types.BASIC_ARRAY(STRING), [["a", None]]),
    (Types.OBJECT_ARRAY(Types.TUPLE([INT])), [[(1,), (2,)]]),
    (Types.MAP(STRING, INT), [{"a": 1, "b": None}, {}]),
    (Types.MAP(STRING, Types.PICKLED_BYTE_ARRAY()), [{"a": object()}]),
]


@pytest.mark.parametrize(("type_info", "values"), RIGHT, ids=lambda part: shown(part)[:40])
def test_right_values_stay_the_same_list(type_info: TypeInformation, values: list[Any]) -> None:
    assert coerce(type_info, values) is values


@pytest.mark.parametrize("type_info", [type_info for type_info, _ in RIGHT], ids=shown)
def test_an_empty_batch_stays(type_info: TypeInformation) -> None:
    empty: list[Any] = []
    assert coerce(type_info, empty) is empty


def test_pickled_values_need_no_coercion() -> None:
    assert coercer(Types.PICKLED_BYTE_ARRAY()) is None
    assert coercer(ExternalTypeInfo(Types.PICKLED_BYTE_ARRAY())) is None


class Color(str, enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    a: int
    b: str


class Bean:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class FakeArray:
    def __len__(self) -> int:
        return 2

    def tolist(self) -> list[int]:
        return [1, 2]


UTC2 = dt.timezone(dt.timedelta(hours=2))
CONVERTED: list[tuple[TypeInformation, list[Any], list[Any]]] = [
    (INT, [True, 2, Level.LOW], [1, 2, 1]),
    (Types.BOOLEAN(), [1, 0, 2, True], [True, False, True, True]),
    (DOUBLE, [1, True, Decimal("1.5")], [1.0, 1.0, 1.5]),
    (DOUBLE, [1, 2], [1.0, 2.0]),
    (Types.FLOAT(), [0.1, 3], [single(0.1), 3.0]),
    (Types.FLOAT(), [0.1], [single(0.1)]),
    (STRING, [Color.RED], ["red"]),
    (Types.BIG_DEC(), [5, 5.5], [Decimal(5), Decimal("5.5")]),
    (Types.SQL_DATE(), [dt.datetime(2024, 2, 29, 1)], [dt.date(2024, 2, 29)]),
    (Types.SQL_TIME(), [dt.time(1, 2, 3, 456789)], [dt.time(1, 2, 3, 456000)]),
    (Types.SQL_TIMESTAMP(), [dt.datetime(2024, 1, 1, 1, 2, 3, 456789)], [dt.datetime(2024, 1, 1, 1, 2, 3, 456000)]),
    (Types.SQL_TIMESTAMP(), [dt.datetime(2024, 1, 1, 1, tzinfo=UTC2)], [dt.datetime(2024, 1, 1, 1)]),
    (Types.TUPLE([INT, STRING]), [[1, "a"], [2, "b"]], [(1, "a"), (2, "b")]),
    (Types.TUPLE([INT, STRING]), [Row(1, "a"), Pair(2, "b")], [(1, "a"), (2, "b")]),
    (Types.TUPLE([INT, DOUBLE]), [(1, 2), (3, None)], [(1, 2.0), (3, None)]),
    (PAIR, [(1, "a")], [Row(a=1, b="a")]),
    (PAIR, [[1, "a"], (1, "a")], [Row(a=1, b="a")] * 2),
    (PAIR, [Row(1, "a")], [Row(a=1, b="a")]),
    (PAIR, [Row.of_kind(RowKind.UPDATE_AFTER, 1, "a")], [Row.of_kind(RowKind.UPDATE_AFTER, a=1, b="a")]),
    (PAIR, [{"b": "x", "c": 3}], [Row(a=None, b="x")]),
    (PAIR, [Bean(a=1, b="x")], [Row(a=1, b="x")]),
    (PAIR, [Row(a=1, b="x", c=2.0)], [Row(a=1, b="x")]),
    (Types.ROW([INT, STRING]), [Row(x=1, y="a")], [Row(f0=1, f1="a")]),
    (Types.ROW([INT, DOUBLE]), [(1, 2)], [Row(f0=1, f1=2.0)]),
    (Types.ROW([DOUBLE]), [Row(f0=1)], [Row(f0=1.0)]),
    (Types.LIST(DOUBLE), [[1], [2, 3.0], []], [[1.0], [2.0, 3.0], []]),
    (Types.LIST(INT), [(1, 2), FakeArray()], [[1, 2], [1, 2]]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [bytearray(b"a")], [b"a"]),
    (Types.MAP(STRING, DOUBLE), [{"a": 1}], [{"a": 1.0}]),
    (Types.MAP(DOUBLE, INT), [{1: True}], [{1.0: 1}]),
    (Types.TUPLE([Types.LIST(Types.TUPLE([DOUBLE])), PAIR]), [([(1,)], (1, "a"))], [([(1.0,)], Row(a=1, b="a"))]),
]


@pytest.mark.parametrize(("type_info", "values", "expected"), CONVERTED, ids=lambda part: shown(part)[:40])
def test_converted(type_info: TypeInformation, values: list[Any], expected: list[Any]) -> None:
    before = repr(values)
    result = coerce(type_info, values)
    assert result == expected
    assert repr(result) == repr(expected)  # == takes True for 1 and 1 for 1.0
    assert repr(values) == before


def test_a_reordered_row_has_its_fields_in_the_order_of_the_type() -> None:
    (row,) = coerce(PAIR, [Row(b="x", a=1)])
    assert list(row) == [1, "x"]
    assert row._fields == NAMES


def test_rows_of_a_batch_share_their_names() -> None:
    first, second = coerce(PAIR, [(1, "a"), (2, "b")])
    assert first._fields is second._fields


WRONG: list[tuple[TypeInformation, Any, str, str]] = [
    (INT, "abc", "", "expected Integer, got str 'abc'"),
    (INT, 1.5, "", "expected Integer, got float 1.5"),
    (INT, None, "", "expected Integer, got None"),
    (INT, 2**31, "", "expected Integer, got int 2147483648: out of range -2147483648 to 2147483647"),
    (Types.BYTE(), 128, "", "expected Byte, got int 128: out of range -128 to 127"),
    (Types.SHORT(), -32769, "", "expected Short, got int -32769: out of range -32768 to 32767"),
    (STRING, 1, "", "expected String, got int 1"),
    (STRING, None, "", "expected String, got None"),
    (Types.CHAR(), "ab", "", "expected Char, got str 'ab': 2 characters instead of one"),
    (DOUBLE, "1.5", "", "expected Double, got str '1.5'"),
    (Types.BOOLEAN(), "true", "", "expected Boolean, got str 'true'"),
    (Types.BOOLEAN(), 1.0, "", "expected Boolean, got float 1.0"),
    (Types.BIG_DEC(), "1", "", "expected BigDecimal, got str '1'"),
    (Types.BIG_DEC(), Decimal("NaN"), "", "expected BigDecimal, got Decimal Decimal('NaN'): not a finite number"),
    (Types.SQL_DATE(), "2020-01-01", "", "expected DateTypeInfo, got str '2020-01-01'"),
    (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 1), "", "expected TimestampTypeInfo, got date datetime.date(2020, 1, 1)"),
    (Types.INSTANT(), 5, "", "expected Instant, got int 5"),
    (Types.TUPLE([INT, STRING]), (1, 2), "f1", "expected String, got int 2 (field f1)"),
    (Types.TUPLE([INT]), (1, 2), "", "expected TupleTypeInfo(Integer), got tuple (1, 2): 2 fields instead of 1"),
    (Types.TUPLE([INT]), 5, "", "expected TupleTypeInfo(Integer), got int 5"),
    (PAIR, (1, 2), "b", "expected String, got int 2 (field b)"),
    (PAIR, Row(a=1), "", "expected RowTypeInfo(a: Integer, b: String), got Row Row(a=1): no field 'b' in this row; "
        "its fields are a"),
    (PAIR, 5, "", "expected RowTypeInfo(a: Integer, b: String), got int 5"),
    (PAIR, None, "", "expected RowTypeInfo(a: Integer, b: String), got None"),
    (Types.LIST(INT), [1, "x"], "[1]", "expected Integer, got str 'x' (field [1])"),
    (Types.LIST(INT), "ab", "", "expected ListTypeInfo<Integer>, got str 'ab'"),
    (Types.PRIMITIVE_ARRAY(INT), [1, None], "[1]", "expected Integer, got None (field [1])"),
    (Types.MAP(STRING, INT), {"a": "x"}, "['a']", "expected Integer, got str 'x' (field ['a'])"),
    (Types.MAP(STRING, INT), {None: 1}, "[None]", "expected String, got None (field [None])"),
    (Types.MAP(STRING, INT), [], "", "expected MapTypeInfo<String, Integer>, got list []"),
    (Types.TUPLE([INT, Types.LIST(PAIR)]), (1, [(1, "a"), (1, 5)]), "f1[1].b",
        "expected String, got int 5 (field f1[1].b)"),
    (STRING, [0] * 100, "", f"expected String, got list {str([0] * 100)[:77]}..."),
]  # fmt: skip


@pytest.mark.parametrize(("type_info", "value", "path", "message"), WRONG, ids=lambda part: shown(part)[:40])
def test_mismatches(type_info: TypeInformation, value: Any, path: str, message: str) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        coerce(type_info, [value])
    error = caught.value
    assert (str(error), error.path, error.index) == (message, path, 0)
    assert str(pickle.loads(pickle.dumps(error))) == message


def test_a_value_without_a_text_form() -> None:
    with pytest.raises(TypeMismatchError, match="got int \\(without a text form\\): out of range"):
        coerce(INT, [10**5000])


def test_a_missing_attribute_is_named() -> None:
    with pytest.raises(TypeMismatchError, match="no attribute 'b'"):
        coerce(PAIR, [Bean(a=1)])


def test_the_index_is_that_of_the_element() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        coerce(Types.TUPLE([INT, STRING]), [(1, "a"), (2, "b"), (3, 4), (5, 6)])
    error = caught.value
    assert (error.index, error.value, error.expected, error.path) == (2, 4, STRING, "f1")


# ---- random types, against a coder of one value that follows the definition

LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    INT: st.integers(-(2**31), 2**31 - 1),
    Types.LONG(): st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(allow_nan=False) | st.integers(-1000, 1000),
    Types.FLOAT(): st.floats(width=32, allow_nan=False) | st.integers(-1000, 1000),
    STRING: st.text(max_size=3),
    Types.BOOLEAN(): st.booleans(),
}


@st.composite
def typed_batches(draw: st.DrawFn) -> tuple[TypeInformation, list[Any]]:
    type_info = draw(st.recursive(st.sampled_from(list(LEAVES)), composites, max_leaves=4))
    return type_info, draw(st.lists(values_of(type_info), min_size=1, max_size=6))


def composites(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    parts = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(parts.map(Types.TUPLE), parts.map(Types.ROW), inner.map(Types.LIST))


def values_of(type_info: Any) -> st.SearchStrategy[Any]:
    if type_info in LEAVES:
        return LEAVES[type_info]
    if hasattr(type_info, "elem_type"):
        return st.lists(st.none() | values_of(type_info.elem_type), max_size=3)
    fields = st.tuples(*(st.none() | values_of(part) for part in type_info.get_field_types()))
    return st.one_of(fields, fields.map(list), fields.map(lambda values: Row(*values)))


def expected_value(type_info: Any, value: Any) -> Any:
    if value is None:
        return None
    if type_info in (DOUBLE, Types.FLOAT()):
        return float(value)
    if type_info in LEAVES:
        return value
    if hasattr(type_info, "elem_type"):
        return [expected_value(type_info.elem_type, part) for part in value]
    parts = tuple(expected_value(t, part) for t, part in zip(type_info.get_field_types(), value, strict=True))
    if not hasattr(type_info, "get_field_names"):
        return parts
    row = Row(*parts)
    row.set_field_names(type_info.get_field_names())
    return row


@given(typed_batches())
def test_against_the_definition(case: tuple[TypeInformation, list[Any]]) -> None:
    type_info, values = case
    result = coerce(type_info, values)
    assert repr(result) == repr([expected_value(type_info, value) for value in values])
    assert coerce(type_info, result) is result
