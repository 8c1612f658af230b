from __future__ import annotations

import datetime as dt
import pickle
import typing
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ids import shown

from millrace.common.time import Instant
from millrace.common.typeinfo import (
    BasicTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
    infer_type,
    type_from_hint,
)
from millrace.common.types import Row, RowKind

INT, STRING = Types.INT(), Types.STRING()

TEXTS = {  # as PyFlink 2.3 prints them
    "String": STRING,
    "Integer": INT,
    "BigDecimal": Types.BIG_DEC(),
    "Instant": Types.INSTANT(),
    "DateTypeInfo": Types.SQL_DATE(),
    "TimeTypeInfo": Types.SQL_TIME(),
    "TimestampTypeInfo": Types.SQL_TIMESTAMP(),
    "PickledByteArrayTypeInfo": Types.PICKLED_BYTE_ARRAY(),
    "RowTypeInfo(Integer)": Types.ROW([INT]),
    "RowTypeInfo(a: Integer, b: TupleTypeInfo(String, Boolean))": Types.ROW_NAMED(
        ["a", "b"], [INT, Types.TUPLE([STRING, Types.BOOLEAN()])]
    ),
    "PrimitiveArrayTypeInfo<Byte>": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "BasicArrayTypeInfo<String>": Types.BASIC_ARRAY(STRING),
    "ObjectArrayTypeInfo<TupleTypeInfo(Integer)>": Types.OBJECT_ARRAY(Types.TUPLE([INT])),
    "ListTypeInfo<Long>": Types.LIST(Types.LONG()),
    "MapTypeInfo<String, Integer>": Types.MAP(STRING, INT),
    "LocalTimeTypeInfo<LOCAL_DATE>": LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE),
    "ExternalTypeInfo<Integer>": ExternalTypeInfo(INT),
}


@pytest.mark.parametrize(("text", "type_info"), TEXTS.items(), ids=str)
def test_text_pickling_and_hash(text: str, type_info: TypeInformation) -> None:
    assert str(type_info) == repr(type_info) == text
    restored = pickle.loads(pickle.dumps(type_info))
    assert restored == type_info
    assert hash(restored) == hash(type_info)
    assert [other for other in TEXTS.values() if other == type_info] == [type_info]


def test_every_basic_type_is_a_factory_of_types() -> None:
    for name in ("STRING", "BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "CHAR", "BIG_INT", "BIG_DEC"):
        assert getattr(Types, name)() == getattr(BasicTypeInfo, f"{name}_TYPE_INFO")()
    assert Types.INT() != Types.LONG()


def test_rows() -> None:
    named, unnamed = Types.ROW_NAMED(["a", "b"], [INT, STRING]), Types.ROW([INT, STRING])
    assert named == unnamed
    assert named.get_field_names() == ["a", "b"]
    assert unnamed.get_field_names() == ["f0", "f1"]
    assert (named.get_field_index("b"), unnamed.get_field_index("f1")) == (1, -1)
    assert named.get_field_types() == [INT, STRING]


def test_wrong_types() -> None:
    with pytest.raises(ValueError, match="2 field types, but 1 field names"):
        Types.ROW_NAMED(["a"], [INT, INT])
    with pytest.raises(ValueError, match="not unique"):
        Types.ROW_NAMED(["a", "a"], [INT, INT])
    with pytest.raises(TypeError, match="primitive"):
        Types.PRIMITIVE_ARRAY(STRING)
    with pytest.raises(TypeError, match="basic"):
        Types.BASIC_ARRAY(Types.BIG_DEC())
    with pytest.raises(TypeError, match="field 0 needs a TypeInformation"):
        Types.TUPLE([int])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("type_info", "value", "internal"),
    [
        (Types.INSTANT(), Instant.of_epoch_milli(5), 5000),
        (Types.SQL_DATE(), dt.date(1970, 1, 11), 10),
        (Types.SQL_TIME(), dt.time(1, 0, 0, 1), 3_600_000_001),
        (INT, 5, 5),
    ],
)
def test_internal_forms(type_info: TypeInformation, value: Any, internal: Any) -> None:
    assert type_info.to_internal_type(value) == internal
    assert type_info.from_internal_type(internal) == value
    assert type_info.need_conversion() is (value != internal)


@given(st.datetimes(dt.datetime(1990, 1, 2), dt.datetime(2030, 1, 1)).filter(lambda moment: moment.month in (1, 7)))
def test_internal_timestamps_come_back(moment: dt.datetime) -> None:
    type_info = Types.SQL_TIMESTAMP()
    assert type_info.from_internal_type(type_info.to_internal_type(moment)) == moment
    utc = moment.replace(tzinfo=dt.timezone.utc)
    micros = (utc - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) // dt.timedelta(microseconds=1)
    assert type_info.to_internal_type(utc) == micros


def test_internal_rows_and_tuples() -> None:
    row_type = Types.ROW_NAMED(["day", "id"], [Types.SQL_DATE(), INT])
    day = dt.date(1970, 1, 2)
    for value in (Row(id=7, day=day), Row(day, 7), (day, 7), [day, 7], {"id": 7, "day": day}):
        assert row_type.to_internal_type(value) == (0, 1, 7)
    assert row_type.to_internal_type(Row.of_kind(RowKind.DELETE, day, None)) == (3, 1, None)
    assert row_type.from_internal_type(iter((1, 7))) == (day, 7)
    tuple_type = Types.TUPLE([Types.SQL_DATE()])
    assert tuple_type.to_internal_type([day]) == (1,)
    assert tuple_type.from_internal_type(iter((1,))) == (day,)
    for composite in (row_type, tuple_type):
        assert composite.to_internal_type(None) is None
        with pytest.raises(ValueError, match="no value of"):
            composite.to_internal_type(5)


class Name(typing.NamedTuple):
    first: str


PICKLED = Types.PICKLED_BYTE_ARRAY()
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, Types.LONG()),
        (True, Types.BOOLEAN()),
        (1.5, Types.DOUBLE()),
        ("a", STRING),
        (b"a", BYTES),
        (Decimal(1), Types.BIG_DEC()),
        (dt.date(2020, 1, 1), Types.SQL_DATE()),
        (dt.time(1), Types.SQL_TIME()),
        (dt.datetime(2020, 1, 1), Types.SQL_TIMESTAMP()),
        (dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), PICKLED),
        (Instant(1, 2), Types.INSTANT()),
        ((1, ("a", None)), Types.TUPLE([Types.LONG(), Types.TUPLE([STRING, PICKLED])])),
        ([1, None, 2], Types.LIST(Types.LONG())),
        ([1, "a"], Types.LIST(PICKLED)),
        ([], Types.LIST(PICKLED)),
        ({"a": 1.0}, Types.MAP(STRING, Types.DOUBLE())),
        (Row(1, "a"), Types.ROW([Types.LONG(), STRING])),
        (Row(a=1), Types.ROW_NAMED(["a"], [Types.LONG()])),
        (Name("x"), PICKLED),
        (None, PICKLED),
        (object(), PICKLED),
    ],
    ids=shown,
)
def test_infer_type(value: Any, expected: TypeInformation) -> None:
    assert str(infer_type(value)) == str(expected)


def test_rows_with_other_names_have_no_common_type() -> None:
    assert infer_type([Row(a=1), Row(b=1)]) == Types.LIST(PICKLED)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, Types.LONG()),
        (bool, Types.BOOLEAN()),
        (bytes, BYTES),
        (tuple[str, int], Types.TUPLE([STRING, Types.LONG()])),
        (tuple[str, typing.Any], Types.TUPLE([STRING, PICKLED])),
        (tuple[()], Types.TUPLE([])),
        (list[float], Types.LIST(Types.DOUBLE())),
        (dict[str, list[int]], Types.MAP(STRING, Types.LIST(Types.LONG()))),
        (tuple[int | None, "str | None"], None),
        (tuple[int | None, str | None], Types.TUPLE([Types.LONG(), STRING])),
        (Types.INT(), INT),
        (dt.datetime, Types.SQL_TIMESTAMP()),
        (typing.Union[int, None], None),
        (int | str, None),
        (tuple[int, ...], None),
        (typing.Any, None),
        (None, None),
        (list, None),
        (Row, None),
        (Name, None),
        ("int", None),
    ],
    ids=shown,
)
def test_type_from_hint(hint: Any, expected: TypeInformation | None) -> None:
    if expected is None and typing.get_origin(hint) is tuple and Ellipsis not in typing.get_args(hint):
        expected = Types.TUPLE([Types.LONG(), PICKLED])  # the string is not resolved
    assert type_from_hint(hint) == expected


def test_unnamed_base_types() -> None:
    assert isinstance(Types.ROW([]), RowTypeInfo)
    assert TypeInformation().need_conversion() is False
