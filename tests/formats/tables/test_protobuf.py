"""``protobuf`` for tables, against messages that protobuf's own library makes and reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import context, decode, decoded, encode, schema
from tests.formats.tables.shop_messages import Item, Order

from millrace.formats.tables.format_options import format_factory
from millrace.relational import types as t
from millrace.util.exceptions import TableException

CLASS = {"message-class-name": "tests.formats.tables.shop_messages:Order"}
ITEM = t.RowType([t.RowField("name", t.string()), t.RowField("price", t.DoubleType())])
COLUMNS = schema(
    id=t.BigIntType(),
    count=t.IntType(),
    paid=t.BooleanType(),
    rate=t.FloatType(),
    total=t.DoubleType(),
    note=t.string(),
    raw=t.VarBinaryType(t.MAX_LENGTH),
    unsigned=t.BigIntType(),
    colour=t.string(),
    item=ITEM,
    tags=t.ArrayType(t.string()),
    items=t.ArrayType(ITEM),
    stock=t.MapType(t.string(), t.IntType()),
    maybe=t.IntType(),
)
FULL: dict[str, Any] = {
    "id": -(2**63), "count": 7, "paid": True, "rate": 0.5, "total": 1e300, "note": "ä", "raw": b"\x00\xff",
    "unsigned": 2**64 - 1, "colour": "GREEN", "item": Item(name="pen", price=1.5), "tags": ["a", "b"],
    "items": [Item(name="x"), Item(price=2)], "stock": {"k": 3}, "maybe": 0,
}  # fmt: skip
ROW = (
    -(2**63), 7, True, 0.5, 1e300, "ä", b"\x00\xff", -1, "GREEN", ("pen", 1.5), ["a", "b"],
    [("x", 0.0), ("", 2.0)], {"k": 3}, 0,
)  # fmt: skip


def test_every_kind_of_field() -> None:
    assert [*map(_plain, decode("protobuf", COLUMNS, [Order(**FULL).SerializeToString(), None], CLASS))] == [ROW]
    (written,) = encode("protobuf", COLUMNS, [ROW], CLASS)
    assert Order.FromString(written) == Order(**FULL)


def _plain(row: Any) -> Any:
    if isinstance(row, (tuple, list)):
        made = [_plain(each) for each in row]
        return made if isinstance(row, list) else tuple(made)
    return tuple(map(_plain, row)) if type(row).__name__ == "Row" else row


def test_what_a_message_does_not_set() -> None:
    # A scalar without presence has its default; messages and optional fields are NULL.
    empty = (0, 0, False, 0.0, 0.0, "", b"", 0, "RED", None, [], [], {}, None)
    assert [*map(_plain, decode("protobuf", COLUMNS, [b""], CLASS))] == [empty]
    defaults = {**CLASS, "read-default-values": "true"}
    assert [*map(_plain, decode("protobuf", COLUMNS, [b""], defaults))] == [(*empty[:-1], 0)]
    nothing = tuple(None for _ in COLUMNS)
    assert encode("protobuf", COLUMNS, [nothing], CLASS) == [b""]


def test_an_enum_as_a_number_and_a_value_that_is_not_known() -> None:
    content = Order(colour=1).SerializeToString()
    assert decode("protobuf", schema(colour=t.IntType()), [content], CLASS) == [(1,)]
    assert decode("protobuf", schema(colour=t.string()), [Order(colour=9).SerializeToString()], CLASS) == [("9",)]
    with pytest.raises(ValueError, match=r"column 'colour': 'PINK' has no form .* shop.Colour has no value 'PINK'"):
        encode("protobuf", schema(colour=t.string()), [("PINK",)], CLASS)


def test_null_in_lists_and_maps() -> None:
    columns = schema(tags=t.ArrayType(t.string()), stock=t.MapType(t.string(), t.IntType()))
    (written,) = encode("protobuf", columns, [(["a", None], {"k": None})], {**CLASS, "write-null-string-literal": "-"})
    assert Order.FromString(written) == Order(tags=["a", "-"], stock={"k": 0})


def test_malformed_messages() -> None:
    with pytest.raises(ValueError, match="message 1 is malformed"):
        decode("protobuf", COLUMNS, [b"", b"\xff\xff\xff"], CLASS)
    found = decoded("protobuf", COLUMNS, [b"\xff\xff", b""], {**CLASS, "ignore-parse-errors": "true"})
    assert (found.messages.tolist(), found.skipped) == ([1], 1)


WRONG = [
    (schema(nothing=t.IntType()), CLASS, "message shop.Order has no field 'nothing'; it has id"),
    (schema(id=t.IntType()), CLASS, "column 'id': a field of kind int64 cannot be INT"),
    (schema(tags=t.string()), CLASS, "column 'tags': the field is repeated, so its type is ARRAY"),
    (schema(stock=t.ArrayType(ITEM)), CLASS, "the field is a map, so its type is MAP"),
    (schema(item=t.string()), CLASS, r"the field is a message, shop.Item, so its type is ROW"),
    (COLUMNS, {"message-class-name": "shop.Nothing"}, "module shop of 'shop.Nothing' can't be imported"),
    (COLUMNS, {"message-class-name": "json:JSONDecoder"}, "JSONDecoder"),
]


@pytest.mark.parametrize(("columns", "options", "message"), WRONG)
def test_tables_that_do_not_fit(columns: Any, options: dict[str, str], message: str) -> None:
    with pytest.raises(TableException, match=message):
        format_factory("protobuf", "shop").decoding(context(columns, options))


_COLUMNS = schema(id=t.BigIntType(), note=t.string(), tags=t.ArrayType(t.string()), maybe=t.IntType())
_INT = st.integers(-(2**31), 2**31 - 1)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), _TEXT, st.lists(_TEXT), _INT | st.none())))
def test_what_is_written_is_read(rows: list[Any]) -> None:
    assert decode("protobuf", _COLUMNS, encode("protobuf", _COLUMNS, rows, CLASS), CLASS) == rows
