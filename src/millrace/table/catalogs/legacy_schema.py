"""PyFlink's older forms of a schema: ``TableSchema`` (names and types of columns), and descriptors that give a
schema as properties (deprecated in PyFlink in favour of ``Schema.new_builder()``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from millrace.relational.types import MAX_LENGTH, DataType, RowField, RowType
from millrace.table.values.program_errors import problem

# TableSchema


class TableSchema:
    """Names and types of columns.

    >>> schema = TableSchema(["name", "n"], [DataTypes.STRING(), DataTypes.INT()])
    >>> schema.get_field_names(), schema.get_field_count()
    (['name', 'n'], 2)
    """

    def __init__(self, field_names: Sequence[str] | None = None, data_types: Sequence[DataType] | None = None) -> None:
        self._names = list(field_names or ())
        self._types = list(data_types or ())
        if len(self._names) != len(self._types):
            raise problem(f"{len(self._names)} names and {len(self._types)} types")

    def copy(self) -> TableSchema:
        """Another schema with the same columns."""
        return TableSchema(self._names, self._types)

    def get_field_data_types(self) -> list[DataType]:
        """The types of the columns."""
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of the column with this name or position; None if there is no such column."""
        if not isinstance(field, (int, str)):
            raise TypeError(f"a column is given by name or position, not by {field!r}")
        if isinstance(field, str):
            return self._types[self._names.index(field)] if field in self._names else None
        return self._types[field] if 0 <= field < len(self._types) else None

    def get_field_count(self) -> int:
        """How many columns there are."""
        return len(self._names)

    def get_field_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """The name of the column at a place, from 0; None: there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """The columns as one type."""
        return RowType([RowField(name, data_type) for name, data_type in zip(self._names, self._types)], False)

    def __repr__(self) -> str:
        lines = [f" |-- {name}: {data_type}" for name, data_type in zip(self._names, self._types)]
        return "\n".join(["root", *lines, ""])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and (self._names, self._types) == (other._names, other._types)

    def __hash__(self) -> int:
        return hash((tuple(self._names), tuple(self._types)))

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Begins a schema; ``build()`` ends it."""
        return TableSchema.Builder()

    class Builder:
        """Makes a schema, column by column."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            return TableSchema(self._names, self._types)


# Descriptors


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
