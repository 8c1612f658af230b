"""Values of BSON and those of the types that a table declares, and the ``_id`` of a row: its key, or a document of the
parts of its key.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from millrace.common.types import Row
from millrace.relational.rex import Schema
from millrace.relational.type_table import ByFamily, Family, conversion, family_of, parts_of
from millrace.relational.types import BigIntType, CharType, DataType

FAMILIES = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIMESTAMP, Family.INSTANT, Family.ARRAY, Family.MAP, Family.ROW,
    }
)  # fmt: skip

Convert = Callable[[Any], Any]


def problem(columns: Schema) -> str | None:
    """What is wrong with columns of a table, None for nothing."""
    wrong = next((column for column in columns if not _has(column.type)), None)
    return None if wrong is None else f"column '{wrong.name}': MongoDB has no values of type {wrong.type}"


def _has(kind: DataType) -> bool:
    parts = parts_of(kind)
    if family_of(kind) is Family.MAP and family_of(parts[0]) is not Family.TEXT:
        return False
    return family_of(kind) in FAMILIES and all(map(_has, parts))


def to_bson(kind: DataType) -> Convert:
    """From the Python form of a type to what pymongo writes."""
    return conversion(kind, _TO_BSON)


def from_bson(kind: DataType) -> Convert:
    """From what pymongo reads to the Python form of a type.

    :raises ValueError: from the function, for a value of another type.
    """
    return conversion(kind, _FROM_BSON)


def read_columns(documents: Sequence[Any], columns: Schema) -> list[list[Any]]:
    """Fields of documents as columns; what a document does not have is NULL.

    :raises ValueError: with the field, the value and the type that is declared.
    """
    found = []
    for column in columns:
        convert, name = from_bson(column.type), column.name
        try:
            found.append([convert(document.get(name)) for document in documents])
        except (ValueError, TypeError, ArithmeticError):
            found.append([_named(convert, document, name, column.type) for document in documents])
    return found


def _named(convert: Convert, document: Any, name: str, kind: DataType) -> Any:
    value = document.get(name)
    try:
        return convert(value)
    except (ValueError, TypeError, ArithmeticError) as error:
        which = f"the document with _id {document.get('_id')!r}"
        raise ValueError(f"field '{name}' of {which} has {value!r}, which is no {kind}: {error}") from None


# -- writing ----------------------------------------------------------------------------------------------------------


def _integer(kind: DataType) -> Convert:
    if not isinstance(kind, BigIntType):
        return int
    from bson import Int64

    return Int64


def _decimal(kind: DataType) -> Convert:
    from bson import Decimal128

    def convert(value: Decimal) -> Any:
        if len(value.as_tuple().digits) > 34:
            raise ValueError(f"MongoDB keeps 34 digits of a decimal number, {value} has more")
        return Decimal128(value)

    return convert


def _milliseconds(value: dt.datetime) -> dt.datetime:
    if value.microsecond % 1000:
        raise ValueError(f"MongoDB keeps milliseconds, {value} has more: CAST it to TIMESTAMP(3) or TIMESTAMP_LTZ(3)")
    return value


def _day(value: dt.date) -> dt.datetime:
    return dt.datetime(value.year, value.month, value.day, tzinfo=dt.timezone.utc)


def _array_out(kind: DataType) -> Convert:
    each = to_bson(parts_of(kind)[0])
    return lambda value: [each(part) for part in value]


def _map_out(kind: DataType) -> Convert:
    item = to_bson(parts_of(kind)[1])
    return lambda value: {key: item(part) for key, part in value.items()}


def _row_out(kind: Any) -> Convert:
    fields = [(name, to_bson(each)) for name, each in zip(kind.field_names(), kind.field_types())]
    return lambda value: {name: convert(part) for (name, convert), part in zip(fields, value)}


_TO_BSON: ByFamily = {
    Family.INTEGER: _integer,
    Family.DECIMAL: _decimal,
    Family.DATE: lambda kind: _day,
    Family.TIMESTAMP: lambda kind: lambda value: _milliseconds(value).replace(tzinfo=dt.timezone.utc),
    Family.INSTANT: lambda kind: _milliseconds,
    Family.ARRAY: _array_out,
    Family.MAP: _map_out,
    Family.ROW: _row_out,
}

# -- reading ----------------------------------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    plain = value.to_decimal() if hasattr(value, "to_decimal") else value
    if isinstance(plain, bool) or not isinstance(plain, (int, float, Decimal)):
        raise ValueError("it is no number")
    return plain


def _whole(value: Any) -> int:
    plain = _number(value)
    if plain != int(plain):
        raise ValueError("it is no whole number")
    return int(plain)


def _to_decimal(value: Any) -> Decimal:
    plain = _number(value)
    return plain if isinstance(plain, Decimal) else Decimal(str(plain))


def _of(kinds: type | tuple[type, ...], what: str) -> Convert:
    def check(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise ValueError(f"it is no {what}")
        return value

    return check


def text(value: Any) -> str:
    """A value of BSON as a text: an ObjectId by its digits, documents and what SQL has no type for in Extended JSON."""
    from bson import ObjectId, json_util

    if type(value) is str:  # code is one, too, of a class of its own
        return value
    if isinstance(value, ObjectId):
        return str(value)
    shown = value if isinstance(value, dict) else {"_value": value}
    return json_util.dumps(shown, json_options=json_util.RELAXED_JSON_OPTIONS)


def _text(kind: DataType) -> Convert:
    return (lambda value: text(value).ljust(kind.length)) if isinstance(kind, CharType) else text


def _instant(value: Any) -> dt.datetime:
    from bson import Timestamp

    if isinstance(value, Timestamp):
        return value.as_datetime()
    found: dt.datetime = _of(dt.datetime, "time")(value)
    return found if found.tzinfo else found.replace(tzinfo=dt.timezone.utc)


def _array_in(kind: DataType) -> Convert:
    each, check = from_bson(parts_of(kind)[0]), _of(list, "array")
    return lambda value: [each(part) for part in check(value)]


def _map_in(kind: DataType) -> Convert:
    item, check = from_bson(parts_of(kind)[1]), _of(dict, "document")
    return lambda value: {key: item(part) for key, part in check(value).items()}


def _row_in(kind: Any) -> Convert:
    fields = [(name, from_bson(each)) for name, each in zip(kind.field_names(), kind.field_types())]
    names, check = kind.field_names(), _of(dict, "document")

    def convert(value: Any) -> Row:
        document = check(value)
        row = Row(*[each(document.get(name)) for name, each in fields])
        row.set_field_names(names)
        return row

    return convert


_FROM_BSON: ByFamily = {
    Family.BOOLEAN: lambda kind: _of(bool, "BOOLEAN"),
    Family.INTEGER: lambda kind: _whole,
    Family.APPROXIMATE: lambda kind: lambda value: float(_number(value)),
    Family.DECIMAL: lambda kind: _to_decimal,
    Family.TEXT: _text,
    Family.BYTES: lambda kind: lambda value: bytes(_of(bytes, "binary value")(value)),
    Family.DATE: lambda kind: lambda value: _instant(value).date(),
    Family.TIMESTAMP: lambda kind: lambda value: _instant(value).replace(tzinfo=None),
    Family.INSTANT: lambda kind: _instant,
    Family.ARRAY: _array_in,
    Family.MAP: _map_in,
    Family.ROW: _row_in,
}


def key_converter(keys: Sequence[str]) -> Callable[[Mapping[str, Any]], Any]:
    """From a document to its ``_id``.

    :param keys: fields of the document; several make a document, in their order.
    """
    if len(keys) == 1:
        (name,) = keys
        return lambda document: as_id(document[name])
    return lambda document: {name: document[name] for name in keys}


def as_id(value: Any) -> Any:
    """A key as MongoDB has it: the digits of an ObjectId, which SQL has as a text, are one again."""
    from bson import ObjectId

    return ObjectId(value) if isinstance(value, str) and ObjectId.is_valid(value) else value
