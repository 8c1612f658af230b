"""Tables and Avro: the schema of columns, rows as what fastavro writes, and what fastavro reads as columns.

Nothing here needs fastavro.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from millrace.formats.tables.problems import NoForm
from millrace.formats.tables.times import cut
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.decimals import fit
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.relational.values import plain_values

RECORD = "org.apache.flink.avro.generated.record"
"""the name of the record; readers in Java look at it"""
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE: dict[type[DataType], str] = {
    t.BooleanType: "boolean",
    t.TinyIntType: "int",
    t.SmallIntType: "int",
    t.IntType: "int",
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.CharType: "string",
    t.VarCharType: "string",
    t.BinaryType: "bytes",
    t.VarBinaryType: "bytes",
}
_AS_IT_IS = (
    t.BooleanType,
    t.IntegralType,
    t.FloatType,
    t.DoubleType,
    t.BinaryType,
    t.VarBinaryType,
    t.DateType,
)
_UTC = dt.timezone.utc

Convert = Callable[[Any], Any]


def avro_schema(columns: Schema, legacy_timestamps: bool = True, name: str = RECORD) -> dict[str, Any]:
    """The schema of a record with these columns, as Flink derives it.

    :param legacy_timestamps: TIMESTAMP as an instant, and no TIMESTAMP_LTZ; otherwise TIMESTAMP as a local timestamp.
    :raises NoForm: a type or a name that Avro does not have; says which column.
    """
    fields = []
    for column in columns:
        try:
            fields.append(_field(column.name, column.type, name, legacy_timestamps))
        except NoForm as error:
            raise NoForm(f"column '{column.name}': {error}") from error
    return {"type": "record", "name": name, "fields": fields}


def _field(name: str, kind: DataType, record: str, legacy: bool) -> dict[str, Any]:
    if _NAME.fullmatch(name) is None:
        raise NoForm(f"'{name}' is no name in Avro: only letters, digits and _ are")
    found: dict[str, Any] = {"name": name, "type": _type(kind, f"{record}_{name}", legacy)}
    return {**found, "default": None} if kind.is_nullable else found


def _type(kind: DataType, record: str, legacy: bool) -> Any:
    if isinstance(kind, t.NullType):
        return "null"
    found = _SIMPLE.get(type(kind)) or _composed(kind, record, legacy) or _logical(kind, legacy)
    return ["null", found] if kind.is_nullable else found


def _composed(kind: DataType, record: str, legacy: bool) -> Any:
    if isinstance(kind, t.RowType):
        fields = [_field(field.name, field.data_type, record, legacy) for field in kind]
        return {"type": "record", "name": record, "fields": fields}
    if isinstance(kind, t.ArrayType):
        return {"type": "array", "items": _type(kind.element_type, record, legacy)}
    if isinstance(kind, (t.MapType, t.MultisetType)):
        key = kind.element_type if isinstance(kind, t.MultisetType) else kind.key_type
        if not isinstance(key, (t.CharType, t.VarCharType)):
            raise NoForm(f"keys in Avro are text, so that {kind} has no form in it")
        item = t.IntType() if isinstance(kind, t.MultisetType) else kind.value_type
        return {"type": "map", "values": _type(item, record, legacy)}
    return None


def _logical(kind: DataType, legacy: bool) -> dict[str, Any]:
    if isinstance(kind, t.DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if isinstance(kind, t.DateType):
        return {"type": "int", "logicalType": "date"}
    if isinstance(kind, t.TimeType):
        if kind.precision > 3:
            raise NoForm(f"times in Avro have at most 3 digits after the second, {kind} has more: use TIME(3)")
        return {"type": "int", "logicalType": "time-millis"}
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        zoned = isinstance(kind, t.LocalZonedTimestampType)
        if legacy and (zoned or kind.precision > 3):
            raise NoForm(
                f"{kind} has no form in Avro with 'avro.timestamp_mapping.legacy' = 'true', which is the default: set "
                "it to 'false'" + ("" if zoned else ", or use TIMESTAMP(3)")
            )
        unit = "millis" if kind.precision <= 3 else "micros"
        return {"type": "long", "logicalType": f"{'' if zoned or legacy else 'local-'}timestamp-{unit}"}
    raise NoForm(f"values of {kind} have no form in Avro")


def avro_records(rows: Rows, columns: Schema) -> list[dict[str, Any]]:
    """Rows as the records that fastavro writes."""
    names = [column.name for column in columns]
    values = []
    for array, column in zip(rows.columns, columns):
        convert = _writer(column.type)
        plain = plain_values(array)
        values.append(plain if convert is None else [None if each is None else convert(each) for each in plain])
    return [dict(zip(names, each)) for each in zip(*values)]


def _writer(kind: DataType) -> Convert | None:
    """From what Arrow gives to what fastavro takes; None where that is the same."""
    if isinstance(kind, t.TimestampType):
        # A local time; fastavro would take one without zone as one of this machine.
        return lambda value: value.replace(tzinfo=_UTC)
    if isinstance(kind, t.ArrayType):
        element = _inner(_writer(kind.element_type))
        return lambda value: list(map(element, value))
    if isinstance(kind, (t.MapType, t.MultisetType)):
        item = _inner(None if isinstance(kind, t.MultisetType) else _writer(kind.value_type))
        return lambda value: {name: item(part) for name, part in value}
    if isinstance(kind, t.RowType):
        parts = {name: _inner(_writer(each)) for name, each in zip(kind.names, kind.field_types())}
        return lambda value: {name: parts[name](part) for name, part in value.items()}
    return None


def avro_columns(records: Iterable[Mapping[str, Any]], columns: Schema) -> list[pa.Array]:
    """What fastavro has read, as columns, found by their names; NULL for those that the records do not have.

    Logical types may be others than those of ``avro_schema``: a TIMESTAMP(3) also takes microseconds, a DECIMAL other
    digits, STRING an enum or a UUID.

    :raises ValueError: a value that does not fit the type of its column.
    """
    whole = list(records)
    found = []
    for column in columns:
        values = [record.get(column.name) for record in whole]
        try:
            found.append(_column(values, column.type))
        except (pa.ArrowException, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"column '{column.name}' of type {column.type}: {error}") from error
    return found


def _column(values: list[Any], kind: DataType) -> pa.Array:
    if isinstance(kind, _AS_IT_IS):
        return pa.array(values, arrow_type(kind))
    if isinstance(kind, (t.CharType, t.VarCharType)) and set(map(type, values)) <= {str, type(None)}:
        return pa.array(values, pa.string())
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        return cut(pa.array(values, arrow_type(kind)), kind.precision)  # Arrow brings what has a zone to UTC
    return pa.array(list(map(_inner(_reader(kind)), values)), arrow_type(kind))


def _reader(kind: DataType) -> Convert:
    """From what fastavro gives to what Arrow takes."""
    if isinstance(kind, (t.CharType, t.VarCharType)):
        return str
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        zone = _UTC if isinstance(kind, t.LocalZonedTimestampType) else None
        unit = 10 ** max(6 - kind.precision, 0)
        return lambda value: _moment(value, zone, unit)
    if isinstance(kind, t.TimeType):
        unit = 10 ** max(6 - kind.precision, 0)
        return lambda value: value.replace(microsecond=value.microsecond // unit * unit)
    if isinstance(kind, t.DecimalType):
        return lambda value: fit(value, kind.precision, kind.scale)
    if isinstance(kind, t.ArrayType):
        element = _inner(_reader(kind.element_type))
        return lambda value: list(map(element, value))
    if isinstance(kind, (t.MapType, t.MultisetType)):
        item = _inner(None if isinstance(kind, t.MultisetType) else _reader(kind.value_type))
        return lambda value: [(str(name), item(part)) for name, part in value.items()]
    if isinstance(kind, t.RowType):
        parts = {name: _inner(_reader(each)) for name, each in zip(kind.names, kind.field_types())}
        return lambda value: {name: part(value.get(name)) for name, part in parts.items()}
    return _same


def _moment(value: dt.datetime, zone: dt.tzinfo | None, unit: int) -> dt.datetime:
    """Without the digits that the type does not have."""
    instant = value.astimezone(_UTC) if value.tzinfo is not None else value
    return instant.replace(tzinfo=zone, microsecond=instant.microsecond // unit * unit)


def _inner(convert: Convert | None) -> Convert:
    """Of a value that may be NULL."""
    return _same if convert is None else lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
