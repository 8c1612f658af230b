"""``JsonDebeziumDeserializationSchema``: events as the JSON texts that Debezium's converter makes of its records."""

from __future__ import annotations

import base64
import datetime as dt
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from millrace.common.typeinfo import TypeInformation, Types
from millrace.connectors.cdc.deserializers import DebeziumDeserializationSchema
from millrace.connectors.cdc.events import Column, DataChangeEvent, Event, TableId, TableSchema, TruncateTableEvent
from millrace.relational import types as t
from millrace.relational.types import DataType

__all__ = ["JsonDebeziumDeserializationSchema"]


DECIMAL_FORMAT = "decimal.format"
_DAY = dt.date(1970, 1, 1)
_EPOCH = dt.datetime(1970, 1, 1)
_MICRO = dt.timedelta(microseconds=1)
Encode = Callable[[Any], Any]


class JsonDebeziumDeserializationSchema(DebeziumDeserializationSchema[str]):
    """``{"before": .., "after": .., "source": {..}, "op": "u", "ts_ms": .., "transaction": null}``.

    Values are as Debezium's default is: decimals as base64 of their digits, dates as days, times and timestamps as
    milli- or microseconds by their precision, times with a zone as texts.

        >>> JsonDebeziumDeserializationSchema().get_produced_type()
        String

    :param include_schema: only False: the schemas of Kafka Connect around each record are not made.
    :param custom_converter_configs: ``decimal.format`` = ``NUMERIC`` writes decimals as numbers.
    """

    def __init__(self, include_schema: bool = False, custom_converter_configs: Mapping[str, Any] | None = None) -> None:
        if include_schema:
            raise NotImplementedError(
                "include_schema: the schemas of Kafka Connect are not made; the texts name columns"
            )
        configs = dict(custom_converter_configs or {})
        self._numbers = str(configs.pop(DECIMAL_FORMAT, "BASE64")).upper() == "NUMERIC"
        if configs:
            raise ValueError(f"the converter has no setting '{min(configs)}': it has {DECIMAL_FORMAT}")
        self._connector = ""
        self._encoders: dict[int, tuple[TableSchema, tuple[Encode | None, ...]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encoders": {}}

    def get_produced_type(self) -> TypeInformation | None:
        return Types.STRING()

    def bound(self, connector: str) -> JsonDebeziumDeserializationSchema:
        self._connector = connector
        return self

    def deserialize(self, event: Event) -> Iterable[str]:
        if isinstance(event, DataChangeEvent):
            source = event.source
            values = (self._image(event.schema, event.before), self._image(event.schema, event.after))
            told = self._source(event.table, source.timestamp, source.snapshot, source.transaction, source.position)
            return (self._text(*values, told, event.op.value),)
        if isinstance(event, TruncateTableEvent):
            return (self._text("null", "null", self._source(event.table, 0, False, None, ""), "t"),)
        return ()

    @staticmethod
    def _text(before: str, after: str, source: Mapping[str, Any], op: str) -> str:
        images = f'"before":{before},"after":{after}'
        now = int(time.time() * 1000)
        return f'{{{images},"source":{_json(source)},"op":"{op}","ts_ms":{now},"transaction":null}}'

    def _source(self, table: TableId, at: int, snapshot: bool, transaction: Any, position: str) -> Mapping[str, Any]:
        schemas = {"schema": table.schema} if table.namespace else {}
        return {
            "connector": self._connector,
            "name": f"{self._connector}_cdc_source",
            "ts_ms": at,
            "snapshot": "true" if snapshot else "false",
            "db": table.namespace or table.schema,
            **schemas,
            "table": table.table,
            "txId": transaction,
            "position": position or None,
        }

    def _image(self, schema: TableSchema, values: Sequence[Any] | None) -> str:
        if values is None:
            return "null"
        known = self._encoders.get(id(schema))
        if known is None or known[0] is not schema:
            known = (schema, tuple(encoder(column, self._numbers) for column in schema.columns))
            self._encoders[id(schema)] = known
        found = {
            name: value if value is None or encode is None else encode(value)
            for name, value, encode in zip(schema.names, values, known[1])
        }
        return _json(found) if not self._numbers else f"{{{','.join(map(_member, found, found.values()))}}}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _member(name: str, value: Any) -> str:
    return f"{_json(name)}:{_written(value)}"


def _written(value: Any) -> str:
    if isinstance(value, _Digits):
        return value.text
    return f"[{','.join(map(_written, value))}]" if isinstance(value, list) else _json(value)


def encoder(column: Column, numbers: bool = False) -> Encode | None:
    """What makes JSON's value of a column's, None for nothing to do."""
    if isinstance(column.type, t.DecimalType) and column.native == "numeric" and not numbers:
        return _any_scale
    return _encoder(column.type, numbers)


def _encoder(kind: DataType, numbers: bool) -> Encode | None:
    if isinstance(kind, t.DecimalType):
        return _Digits if numbers else _unscaled
    if isinstance(kind, (t.BinaryType, t.VarBinaryType)):
        return lambda value: base64.b64encode(value).decode()
    if isinstance(kind, t.DateType):
        return lambda value: (value - _DAY).days
    if isinstance(kind, t.TimeType):
        return _scaled(_of_day, kind.precision)
    if isinstance(kind, t.TimestampType):
        return _scaled(lambda value: (value.replace(tzinfo=None) - _EPOCH) // _MICRO, kind.precision)
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: f"{value.astimezone(dt.timezone.utc).replace(tzinfo=None).isoformat()}Z"
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return lambda value: value if value - value == 0 else str(value)
    if isinstance(kind, t.ArrayType):
        inner = _encoder(kind.element_type, numbers)
        return None if inner is None else lambda value: [each if each is None else inner(each) for each in value]
    return None


def _of_day(value: dt.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _scaled(micros: Callable[[Any], int], precision: int) -> Encode:
    return (lambda value: micros(value) // 1000) if precision <= 3 else micros


class _Digits:
    """A number with all its digits, which the encoder of Python has no way for."""

    def __init__(self, value: Decimal) -> None:
        self.text = format(value, "f")


def _unscaled(value: Decimal) -> str:
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    return base64.b64encode(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)).decode()


def _any_scale(value: Decimal) -> Mapping[str, Any]:
    value = value.normalize()
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent > 0:
        value = value.quantize(Decimal(1))
    return {"scale": max(0, -exponent), "value": _unscaled(value)}
