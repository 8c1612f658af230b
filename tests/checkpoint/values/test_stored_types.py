"""State that was declared as anything, and is declared as something now."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest
from tests.checkpoint.stored_classes import Colour, Order, Pair

from millrace.checkpoint.columns import encode
from millrace.checkpoint.compare import compare_stored
from millrace.checkpoint.compatibility import describe_type
from millrace.common.time import Instant
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.types import Row

INT, STRING, DOUBLE = Types.INT(), Types.STRING(), Types.DOUBLE()
ROW = Types.ROW_NAMED(["a", "b"], [INT, STRING])


def verdict(kind: str, declared: TypeInformation, **columns: list[Any]) -> str:
    return compare_stored(kind, {name: encode(values)[1] for name, values in columns.items()}, describe_type(declared))


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (1, INT),
        (1, DOUBLE),
        (2**70, Types.BIG_INT()),
        (1.5, Types.FLOAT()),
        (True, Types.BOOLEAN()),
        ("a", STRING),
        (b"a", Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (decimal.Decimal(1), Types.BIG_DEC()),
        (datetime.date(2024, 1, 1), Types.SQL_DATE()),
        (datetime.time(1), Types.SQL_TIME()),
        (datetime.datetime(2024, 1, 1), Types.SQL_TIMESTAMP()),
        (Instant(1, 2), Types.INSTANT()),
        ((1, "a"), Types.TUPLE([INT, STRING])),
        ((1, "a"), ROW),
        (Pair(1, 2), Types.TUPLE([INT, INT])),
        (Row(a=1, b="x"), ROW),
        (Row(1, "x"), ROW),
        ({"a": 1, "b": "x"}, ROW),
        ([1, 2], Types.LIST(INT)),
        ({"a": 1}, Types.MAP(STRING, INT)),
        ({1: 1}, Types.MAP(INT, INT)),
        (Order(1), Types.ROW_NAMED(["id"], [INT])),
        (Order(1), Types.PICKLED_BYTE_ARRAY()),
        ({1}, INT),
        (None, INT),
    ],
    ids=str,
)
def test_values_that_fit(value: Any, declared: TypeInformation) -> None:
    assert verdict("value", declared, value=[value]) == "same"


@pytest.mark.parametrize(
    ("value", "declared", "wrong"),
    [
        (1, STRING, "stored values are of the form 'int', not STRING"),
        (1.5, INT, "stored values are of the form 'float', not INT"),
        (True, INT, "stored values are of the form 'bool', not INT"),
        (Colour.RED, STRING, "stored values are of the form 'enum', not STRING"),
        (Order(1), INT, "stored values are of the form 'dataclass', not INT"),
        ((1, 2), Types.TUPLE([INT, STRING]), "f1: stored values are of the form 'int', not STRING"),
        (Row(a="x"), ROW, "a: stored values are of the form 'str', not INT"),
        (Order("x"), Types.ROW_NAMED(["id"], [INT]), "id: stored values are of the form 'str', not INT"),
        ([["a"]], Types.LIST(Types.LIST(INT)), "element.element: stored values are of the form 'str', not INT"),
        ([1, "a"], Types.LIST(INT), "1: stored values are of the form 'str', not INT"),
        ({"a": 1}, Types.MAP(STRING, STRING), "a: stored values are of the form 'int', not STRING"),
        ({1: 1}, Types.MAP(STRING, STRING), "key: stored values are of the form 'int', not STRING; "
         "value: stored values are of the form 'int', not STRING"),
    ],
    ids=str,
)  # fmt: skip
def test_values_that_do_not_fit(value: Any, declared: TypeInformation, wrong: str) -> None:
    assert verdict("value", declared, value=[value]) == f"incompatible: {wrong}"


@pytest.mark.parametrize("kind", ["list", "TTL list", "UNION"])
def test_lists_are_stored_by_element(kind: str) -> None:
    assert verdict(kind, Types.LIST(INT), value=[1]) == "same"
    assert verdict(kind, Types.LIST(STRING), value=[1]).startswith("incompatible: element: ")


@pytest.mark.parametrize("kind", ["map", "TTL map", "BROADCAST"])
def test_maps_are_stored_by_entry(kind: str) -> None:
    assert verdict(kind, Types.MAP(STRING, INT), map_key=["a"], value=[1]) == "same"
    assert verdict(kind, Types.MAP(INT, INT), map_key=["a"], value=[1]).startswith("incompatible: key: ")
