"""Avro's generic records, which are dicts in Python: their schema and their type. Needs fastavro."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from millrace.common.typeinfo import TypeInformation

__all__ = ["AvroSchema", "GenericRecordAvroTypeInfo"]

_ORDER = ("type", "name", "namespace", "doc", "fields", "items", "values", "symbols", "size", "default", "aliases")
"""of what Java's Avro prints of a schema; a field's name comes before its type"""


class AvroSchema:
    """A schema of Avro: ``AvroSchema.parse_string(...)`` or ``parse_file(...)``.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> schema = AvroSchema.parse_string(text)

    :raises ValueError: the text is no Avro schema.
    """

    def __init__(self, schema_string: str) -> None:
        try:
            import fastavro
        except ImportError:
            raise ImportError("AvroSchema needs fastavro: pip install 'millrace-streaming[avro]'") from None
        try:
            plain = json.loads(schema_string)
            fastavro.parse_schema(plain)
        except Exception as error:
            raise ValueError(f"this is no Avro schema: {error}") from error
        self._text = json.dumps(_ordered(plain), separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """A schema from its JSON."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """A schema from a file of JSON.

            >>> import pathlib
            >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
            >>> _ = pathlib.Path("order.avsc").write_text(text)
            >>> schema = AvroSchema.parse_file("order.avsc")
        """
        return AvroSchema(Path(file_path).read_text("utf-8"))

    @cached_property
    def plain(self) -> Any:
        """The schema as Python's values of JSON."""
        return json.loads(self._text)

    @cached_property
    def parsed(self) -> Any:
        """The schema as fastavro takes it."""
        import fastavro

        return fastavro.parse_schema(self.plain)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"AvroSchema({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (self._text,)


def _ordered(schema: Any, is_field: bool = False) -> Any:
    """With attributes in the order in which Java's Avro prints them."""
    if isinstance(schema, list):
        return [_ordered(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    first = ("name", "type") if is_field else ()
    names = [name for name in (*first, *_ORDER) if name in schema]
    names += [name for name in schema if name not in names]
    ordered = {name: schema[name] for name in names}
    for name in ("type", "items", "values"):
        if name in ordered:
            ordered[name] = _ordered(ordered[name])
    if "fields" in ordered:
        ordered["fields"] = [_ordered(each, True) for each in ordered["fields"]]
    return ordered


class GenericRecordAvroTypeInfo(TypeInformation):
    """The type of records of a schema; they are dicts.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> orders = env.from_collection([{"id": 1}], GenericRecordAvroTypeInfo(AvroSchema.parse_string(text)))
        >>> list(orders.execute_and_collect())
        [{'id': 1}]
    """

    __slots__ = ("_schema",)

    def __init__(self, schema: AvroSchema) -> None:
        if not isinstance(schema, AvroSchema):
            raise TypeError(f"GenericRecordAvroTypeInfo takes an AvroSchema, not a {type(schema).__name__}")
        self._schema = schema

    def _key(self) -> Any:
        return self._schema

    def __repr__(self) -> str:
        return f'GenericRecord("{self._schema}")'
