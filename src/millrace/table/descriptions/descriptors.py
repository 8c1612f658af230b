"""Descriptors of PyFlink's oldest form, deprecated there: properties of a schema. ``Schema.new_builder()`` is newer."""

from __future__ import annotations

import re
from typing import Any

from millrace.relational.types import MAX_LENGTH, DataType
from millrace.table.descriptions.table_schema import TableSchema
from millrace.table.values.problems import problem

__all__ = ["Rowtime", "Schema"]


class Descriptor:
    """Something that is described by properties."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def to_properties(self) -> dict[str, str]:
        return dict(self._properties)


class Rowtime(Descriptor):
    """Where event time and watermarks come from."""

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        return self._set("timestamps", "from-field", field_name, "from")

    def timestamps_from_source(self) -> Rowtime:
        return self._set("timestamps", "from-source")

    def timestamps_from_extractor(self, extractor: str) -> Rowtime:
        """:raises TableException: extractors are Java classes."""
        raise problem(f"extractor {extractor} is a Java class: compute a column, timestamps_from_field() takes it")

    def watermarks_periodic_ascending(self) -> Rowtime:
        return self._set("watermarks", "periodic-ascending")

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """:param delay: ms."""
        return self._set("watermarks", "periodic-bounded", str(delay), "delay")

    def watermarks_from_source(self) -> Rowtime:
        return self._set("watermarks", "from-source")

    def watermarks_from_strategy(self, strategy: str) -> Rowtime:
        """:raises TableException: strategies are Java classes."""
        raise problem(f"strategy {strategy} is a Java class: use watermarks_periodic_bounded, or WATERMARK FOR in SQL")

    def _set(self, what: str, kind: str, value: str | None = None, key: str = "") -> Rowtime:
        self._properties[f"rowtime.{what}.type"] = kind
        if value is not None:
            self._properties[f"rowtime.{what}.{key}"] = value
        return self


_LONG_NAMES = {"STRING": f"VARCHAR({MAX_LENGTH})", "BYTES": f"VARBINARY({MAX_LENGTH})"}
_OLD_NAMES = {"SQL_TIMESTAMP": "TIMESTAMP(3)", "SQL_TIME": "TIME(0)", "SQL_DATE": "DATE"}


def _property_of(kind: DataType | str) -> str:
    """A type as Flink's old properties write it: without short names, which old texts were given instead of."""
    if isinstance(kind, str):
        return _OLD_NAMES.get(kind, kind)
    names_and_words = r"`(?:``|[^`])*`|\w+"
    return re.sub(names_and_words, lambda found: _LONG_NAMES.get(found[0], found[0]), str(kind))


class Schema(Descriptor):
    """Columns by name and type, some of them time attributes."""

    def __init__(
        self,
        schema: TableSchema | None = None,
        fields: dict[str, DataType | str] | None = None,
        rowtime: Rowtime | None = None,
    ) -> None:
        super().__init__()
        self._count = 0
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: TableSchema) -> Schema:
        """All columns of a schema."""
        return self.fields(dict(zip(table_schema.get_field_names(), table_schema.get_field_data_types())))

    def field(self, field_name: str, field_type: DataType | str) -> Schema:
        self._properties[f"schema.{self._count}.data-type"] = _property_of(field_type)
        self._properties[f"schema.{self._count}.name"] = field_name
        self._count += 1
        return self

    def fields(self, fields: dict[str, Any]) -> Schema:
        for name, data_type in fields.items():
            self.field(name, data_type)
        return self

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """What the last column is called in the source."""
        return self._of_last({"from": origin_field_name})

    def proctime(self) -> Schema:
        """The last column is the processing time."""
        return self._of_last({"proctime": "true"})

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """The last column is the event time."""
        return self._of_last(rowtime.to_properties())

    def _of_last(self, properties: dict[str, str]) -> Schema:
        if not self._count:
            raise problem("no column was described: field(name, type) comes first")
        self._properties.update({f"schema.{self._count - 1}.{key}": value for key, value in properties.items()})
        return self
