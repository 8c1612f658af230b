"""Partitions as folders: ``dt=2024-05-06/hr=10``, and their values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from millrace.common.text import double_text, float_text
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.parsing import CastError, parser
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException

DEFAULT_NAME = "__DEFAULT_PARTITION__"
"""the folder of NULL and of the empty text"""
# What neither every file system takes nor URIs show plainly.
_ESCAPED = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")
_KINDS = (
    t.CharType,
    t.VarCharType,
    t.BooleanType,
    t.IntegralType,
    t.FloatType,
    t.DoubleType,
    t.DecimalType,
    t.DateType,
    t.TimeType,
    t.TimestampType,
    t.LocalZonedTimestampType,
)


def check_partition_types(columns: Schema, table: str) -> None:
    """:raises TableException: a type whose values cannot be the name of a folder."""
    for column in columns:
        if not isinstance(column.type, _KINDS):
            raise TableException(
                f"table {table}: a table cannot be partitioned by '{column.name}' of type {column.type}: its values "
                f"are no names of folders"
            )


def escaped(text: str) -> str:
    """A name or value as part of a path."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def folder_of(keys: Sequence[str], texts: Sequence[str]) -> str:
    """``dt=2024-05-06/hr=10``."""
    return "/".join(f"{escaped(key)}={escaped(text)}" for key, text in zip(keys, texts, strict=True))


def texts_of(folder: str) -> dict[str, str]:
    """Key -> value for every folder of a path that has both."""
    parts = (part.partition("=") for part in folder.split("/"))
    return {unquote(key): unquote(value) for key, equals, value in parts if equals}


def text_of(value: Any, kind: DataType, default_name: str) -> str:
    """A value (in the Python form of its type) as Java shows it."""
    if value is None:
        return default_name
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if isinstance(kind, t.FloatType) else double_text(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            instant = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
            return f"{instant.isoformat(timespec=_fraction(instant.time()))}Z"
        return f"{value.date().isoformat()}T{_time_text(value.time())}"
    if isinstance(value, dt.time):
        return _time_text(value)
    return str(value) or default_name


def _time_text(value: dt.time) -> str:
    """Without seconds if they are zero; three or six digits of a fraction."""
    return value.isoformat("minutes" if not value.second and not value.microsecond else _fraction(value))


def _fraction(value: dt.time) -> str:
    return "seconds" if not value.microsecond else "microseconds" if value.microsecond % 1000 else "milliseconds"


def value_of(text: str, kind: DataType, default_name: str) -> Any:
    """The value (in its Python form) that a folder's name stands for.

    :raises CastError: it is none of that type.
    """
    if text == default_name:
        return None
    family = family_of(kind)
    if family is Family.TEXT:
        return text
    read = parser(kind, "UTC")
    assert read is not None, kind
    if family in (Family.TIMESTAMP, Family.INSTANT):
        text = text.removesuffix("Z").replace("T", " ", 1)
        if text.count(":") == 1:
            text += ":00"
    return read(text)


def partition_values(path: str, columns: Schema, default_name: str, table: str) -> list[Any]:
    """The values of a file's partition, from its path.

    :raises ValueError: the path does not say all of them, or not in their types.
    """
    texts = texts_of(path)
    values = []
    for column in columns:
        if column.name not in texts:
            raise ValueError(f"table {table}: {path} lies in no folder {column.name}=...")
        try:
            values.append(value_of(texts[column.name], column.type, default_name))
        except CastError as error:
            raise ValueError(f"table {table}: {path}, partition column '{column.name}': {error}") from error
    return values
