"""PyFlink's private helpers, asked what its own tests ask them."""

from __future__ import annotations

import array
import datetime
import sys
from decimal import Decimal
from typing import Any

import pytest

from millrace.common.types import Row
from millrace.table.types import (
    DataTypes,
    _array_type_mappings,
    _create_type_verifier,
    _from_java_data_type,
    _infer_schema_from_data,
    _infer_type,
    _merge_type,
    _to_java_data_type,
)

ROW = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING(False))])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, "BIGINT"), (1.5, "DOUBLE"), ("a", "STRING"), (True, "BOOLEAN"), (Decimal(1), "DECIMAL(38, 18)"),
        (bytearray(b"a"), "BYTES"), (datetime.date(2020, 1, 1), "DATE"), (datetime.time(1), "TIME(0)"),
        (datetime.datetime(2020, 1, 1), "TIMESTAMP_LTZ(6)"), ({"a": 1}, "MAP<STRING NOT NULL, BIGINT>"),
        ([1, None], "ARRAY<BIGINT>"), (array.array("h", [1]), "ARRAY<SMALLINT NOT NULL>"),
        ((1, "a"), "ROW<`_1` BIGINT, `_2` STRING>"), (Row(x=1), "ROW<`x` BIGINT>"),
    ],
)  # fmt: skip
def test_types(value: Any, kind: str) -> None:
    assert str(_infer_type(value)) == kind


def test_type_codes_hold_what_c_holds() -> None:
    for code, kind in _array_type_mappings.items():
        if code in "bhilBHIL":
            highest = array.array(code, [0]).itemsize * 8 - (code.islower())
            verify = _create_type_verifier(kind)
            verify(2**highest - 1)
    assert "L" not in _array_type_mappings or sys.maxsize < 2**32
    with pytest.raises(TypeError, match=r"not supported type: array\(Q\)"):
        _infer_type(array.array("Q", [1]))


def test_one_type_for_several_rows() -> None:
    found = _infer_schema_from_data([(1, None), (None, "x")], ["a", "b"])
    assert (found.field_names(), list(map(str, found.field_types()))) == (["a", "b"], ["BIGINT", "STRING"])
    assert _infer_schema_from_data([{"a": 1}, {"b": "x"}]).field_names() == ["a", "b"]
    with pytest.raises(TypeError, match="field a: Can not merge type"):
        _infer_schema_from_data([{"a": 1}, {"a": 1.5}])
    with pytest.raises(ValueError, match="cannot be determined"):
        _infer_schema_from_data([(None,)])
    with pytest.raises(ValueError, match="empty data set"):
        _infer_schema_from_data([])


def test_merging_goes_into_parts() -> None:
    nothing = DataTypes.NULL()
    text, number = DataTypes.STRING(), DataTypes.BIGINT()
    merged = _merge_type(DataTypes.MAP(text, DataTypes.ARRAY(nothing)), DataTypes.MAP(text, DataTypes.ARRAY(number)))
    assert merged == DataTypes.MAP(text, DataTypes.ARRAY(number))
    with pytest.raises(TypeError, match="element in array of x: Can not merge"):
        _merge_type(DataTypes.ARRAY(text), DataTypes.ARRAY(number), "of x")


@pytest.mark.parametrize(
    ("kind", "good", "bad", "raised"),
    [
        (DataTypes.TINYINT(), 127, 128, ValueError),
        (DataTypes.SMALLINT(), -(2**15), -(2**15) - 1, ValueError),
        (DataTypes.INT(), 2**31 - 1, 2**31, ValueError),
        (DataTypes.BIGINT(), 2**70, "1", TypeError),
        (DataTypes.DOUBLE(), 1.0, 1, TypeError),
        (DataTypes.CHAR(2), "ab", "a", ValueError),
        (DataTypes.VARCHAR(2), "a", "abc", ValueError),
        (DataTypes.BINARY(1), bytearray(b"a"), bytearray(), ValueError),
        (DataTypes.INT(False), 1, None, ValueError),
        (DataTypes.ARRAY(DataTypes.INT(False)), [1], [1, None], ValueError),
        (DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), {"a": 1}, {"a": "b"}, TypeError),
        (DataTypes.MAP(DataTypes.STRING(False), DataTypes.INT()), {"a": None}, {None: 1}, ValueError),
        (ROW, (1, "a"), (1, None), ValueError),
        (ROW, {"b": "a"}, {"a": 1}, ValueError),
        (ROW, Row(b="a", a=1), Row("a", 1), TypeError),
        (ROW, [None, "a"], [1], ValueError),
        (ROW, (None, ""), 5, TypeError),
    ],
    ids=lambda value: str(value)[:20],
)
def test_verifiers(kind: Any, good: Any, bad: Any, raised: type[Exception]) -> None:
    verify = _create_type_verifier(kind, "it")
    verify(good)
    with pytest.raises(raised, match=r"^(it|field|element|key|value)"):
        verify(bad)


def test_there_is_no_java_behind_a_type() -> None:
    assert _from_java_data_type(_to_java_data_type(ROW)) == ROW


def test_fields_of_a_row_type() -> None:
    assert (ROW["b"], ROW[0], ROW[0:1].field_names()) == (ROW.fields[1], ROW.fields[0], ["a"])
    for key, raised in (("c", KeyError), (2, IndexError), (1.5, TypeError)):
        with pytest.raises(raised):
            ROW[key]
    assert repr(ROW) == "RowType(RowField(a, IntType(true), ...),RowField(b, VarCharType(2147483647, false), ...))"
