"""``TableSchema``: names and types of columns, PyFlink's older form."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational.types import DataType, RowField, RowType
from millrace.table.values.problems import problem

__all__ = ["TableSchema"]


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
        """By name or position; None if there is no such column."""
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
