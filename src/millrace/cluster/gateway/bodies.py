"""Bodies of the gateway's requests and answers: columns, rows and their types as Flink's gateway writes them."""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from millrace.cluster.gateway.operations import Operation, Page, Result
from millrace.common.types import RowKind
from millrace.relational import types as t
from millrace.relational.type_table import ByFamily, Family, conversion, parts_of
from millrace.relational.types import DataType
from millrace.table.values.printed_tables import row_texts

# Data types

_ROOTS: Mapping[type[DataType], str] = {
    t.NullType: "NULL",
    t.BooleanType: "BOOLEAN",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INTEGER",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DecimalType: "DECIMAL",
    t.CharType: "CHAR",
    t.VarCharType: "VARCHAR",
    t.BinaryType: "BINARY",
    t.VarBinaryType: "VARBINARY",
    t.DateType: "DATE",
    t.TimeType: "TIME_WITHOUT_TIME_ZONE",
    t.TimestampType: "TIMESTAMP_WITHOUT_TIME_ZONE",
    t.LocalZonedTimestampType: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    t.ZonedTimestampType: "TIMESTAMP_WITH_TIME_ZONE",
    t.YearMonthIntervalType: "INTERVAL_YEAR_MONTH",
    t.DayTimeIntervalType: "INTERVAL_DAY_TIME",
    t.ArrayType: "ARRAY",
    t.MapType: "MAP",
    t.MultisetType: "MULTISET",
    t.RowType: "ROW",
    t.VariantType: "VARIANT",
}
"""Flink's names of type roots."""


def described(data_type: DataType) -> dict[str, Any]:
    """The root and parameters of a type, as Flink's ``LogicalTypeJsonSerializer`` names them."""
    root = _ROOTS.get(type(data_type), "RAW")
    more = _PARAMETERS.get(type(data_type))
    return {"type": root, "nullable": data_type.is_nullable, **({} if more is None else more(data_type))}


def _length(kind: Any) -> dict[str, Any]:
    return {"length": kind.length}


def _times(kind: Any) -> dict[str, Any]:
    """The parameters of a timestamp type. Flink adds a kind for rowtime attributes only, which results never
    contain."""
    return {"precision": kind.precision}


def _decimal(kind: t.DecimalType) -> dict[str, Any]:
    return {"precision": kind.precision, "scale": kind.scale}


def _element(kind: Any) -> dict[str, Any]:
    return {"elementType": described(kind.element_type)}


def _map_type(kind: t.MapType) -> dict[str, Any]:
    return {"keyType": described(kind.key_type), "valueType": described(kind.value_type)}


def _row_type(kind: t.RowType) -> dict[str, Any]:
    return {
        "fields": [
            {
                "name": str(field.name),
                "fieldType": described(field.data_type),
                **({} if field.description is None else {"description": field.description}),
            }
            for field in kind.fields
        ]
    }


_PARAMETERS: Mapping[type[DataType], Callable[[Any], dict[str, Any]]] = {
    **dict.fromkeys((t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType), _length),
    **dict.fromkeys((t.TimeType, t.TimestampType, t.LocalZonedTimestampType, t.ZonedTimestampType), _times),
    t.DecimalType: _decimal,
    t.ArrayType: _element,
    t.MultisetType: _element,
    t.MapType: _map_type,
    t.RowType: _row_type,
    t.YearMonthIntervalType: lambda kind: {
        "resolution": kind.resolution.name,
        "precision": kind.precision,
    },
    t.DayTimeIntervalType: lambda kind: {
        "resolution": kind.resolution.name,
        "precision": kind.day_precision,
        "fractionalPrecision": kind.fractional_precision,
    },
}


# Values of rows

Value = Callable[[Any], Any]


def row_values(types: Sequence[DataType]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that gives the fields of a row."""
    values = [_nullable(each) for each in types]
    return lambda row: [value(field) for value, field in zip(values, row)]


def _nullable(data_type: DataType) -> Value:
    return conversion(data_type, _VALUES)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _moment(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return _seconds(value.isoformat("T"))


def _seconds(text: str) -> str:
    """An ISO time as Java writes it: its fraction has three digits where six are not needed."""
    return text.removesuffix("000") if "." in text else text


def _instant(value: datetime.datetime) -> str:
    return f"{_moment(value)}Z"


def _millis(value: datetime.timedelta) -> int:
    return value // datetime.timedelta(milliseconds=1)


def _array(data_type: DataType) -> Value:
    each = _nullable(parts_of(data_type)[0])
    return lambda values: [each(value) for value in values]


def _map_value(data_type: DataType) -> Value:
    key, item = (_nullable(each) for each in parts_of(data_type))
    return lambda values: {_name(key(name)): item(value) for name, value in values.items()}


def _name(value: Any) -> str:
    """A key of a JSON object; a key that is not text is written as JSON inside of the text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _row_value(data_type: Any) -> Value:
    fields = row_values(parts_of(data_type))
    names = [str(name) for name in data_type.names]

    def row(value: Any) -> dict[str, Any]:
        items = list(value.values()) if isinstance(value, dict) else list(value)
        return dict(zip(names, fields(items)))

    return row


_VALUES: ByFamily = {
    Family.INTEGER: lambda kind: int,
    Family.MONTHS: lambda kind: int,
    Family.TEXT: lambda kind: str,
    # All digits, as a number.
    Family.DECIMAL: lambda kind: lambda value: msgspec.Raw(format(value, "f").encode()),
    Family.APPROXIMATE: lambda kind: _number,
    Family.BYTES: lambda kind: lambda value: base64.b64encode(bytes(value)).decode(),
    Family.DATE: lambda kind: lambda value: value.isoformat(),
    Family.TIME: lambda kind: lambda value: _seconds(value.isoformat()),
    Family.TIMESTAMP: lambda kind: _moment,
    Family.INSTANT: lambda kind: _instant,
    Family.SPAN: lambda kind: _millis,
    Family.ARRAY: _array,
    Family.MAP: _map_value,
    Family.ROW: _row_value,
    Family.RAW: lambda kind: str,
    Family.USER: lambda kind: str,
}


# Bodies

JSON, PLAIN_TEXT = "JSON", "PLAIN_TEXT"

KINDS = {
    RowKind.INSERT: "INSERT",
    RowKind.UPDATE_BEFORE: "UPDATE_BEFORE",
    RowKind.UPDATE_AFTER: "UPDATE_AFTER",
    RowKind.DELETE: "DELETE",
}


@dataclass(frozen=True)
class OpenSessionBody:
    """A session to be opened. The last two are fields of Flink's first gateway."""

    sessionName: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    planner: str | None = None
    execution_type: str | None = None

    @property
    def all_properties(self) -> dict[str, str]:
        older = {"planner": self.planner, "execution_type": self.execution_type}
        return {**(self.properties or {}), **{key: value for key, value in older.items() if value is not None}}


@dataclass(frozen=True)
class StatementBody:
    """A statement to be run. Times are ms; 0 and less: no limit."""

    statement: str | None = None
    executionTimeout: int | None = None
    executionConfig: dict[str, str] | None = None

    @property
    def seconds(self) -> float | None:
        return self.executionTimeout / 1000 if self.executionTimeout and self.executionTimeout > 0 else None


@dataclass(frozen=True)
class CompleteBody:
    """A statement that is being typed."""

    statement: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class SessionHandleAnswer:
    """A session was opened."""

    sessionHandle: str


@dataclass(frozen=True)
class OperationHandleAnswer:
    """A statement was submitted."""

    operationHandle: str


@dataclass(frozen=True)
class StatusAnswer:
    """How far something is."""

    status: str


@dataclass(frozen=True)
class PropertiesAnswer:
    """The settings of a session."""

    properties: dict[str, str]


@dataclass(frozen=True)
class InfoAnswer:
    """What this is."""

    productName: str
    version: str


@dataclass(frozen=True)
class VersionsAnswer:
    """Versions of the API that are served."""

    versions: tuple[str, ...]


@dataclass(frozen=True)
class CandidatesAnswer:
    """What may come next."""

    candidates: tuple[str, ...]


def page_body(operation: Operation, page: Page | None, row_format: str, next_uri: str) -> dict[str, Any]:
    """One page of results as a body; ``page`` is None while the statement still runs."""
    if page is None:
        return {"resultType": "NOT_READY", "nextResultUri": next_uri}
    result = operation.result
    body: dict[str, Any] = {
        "results": {"columns": _columns(result), "rowFormat": row_format, "data": _rows(result, page, row_format)},
        "resultType": "EOS" if page.is_last else "PAYLOAD",
        "resultKind": result.kind.name,
        "isQueryResult": result.is_query,
    }
    if result.job_id is not None:
        body["jobID"] = result.job_id
    if not page.is_last:
        body["nextResultUri"] = next_uri
    return body


def _columns(result: Result) -> list[dict[str, Any]]:
    return [
        {"name": str(name), "logicalType": described(kind), "comment": None}
        for name, kind in zip(result.names, result.types)
    ]


def _rows(result: Result, page: Page, row_format: str) -> list[dict[str, Any]]:
    fields = _plain(result) if row_format == PLAIN_TEXT else row_values(result.types)
    return [{"kind": KINDS[row.get_row_kind()], "fields": fields(list(row))} for row in page.rows]


def _plain(result: Result) -> Callable[[Sequence[Any]], list[Any]]:
    """Fields in the row format PLAIN_TEXT: texts; NULL is JSON's null."""
    texts = row_texts(result.types, result.zone)
    return lambda row: [None if value is None else text for value, text in zip(row, texts(row))]
