"""Resolved schemas: columns whose types are known, watermark, primary key."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from millrace.relational.nodes import Schema as Fields
from millrace.relational.types import DataType, RowField, RowType
from millrace.table.expression_methods.expression import ResolvedExpression

if TYPE_CHECKING:
    from millrace.table.catalogs.objects import Schema


_C = TypeVar("_C", bound="Column")


class Column(ABC):
    """A column of a resolved schema.

    >>> Column.physical("n", DataTypes.INT()).as_summary_string()
    '`n` INT'
    """

    def __init__(self, name: str, data_type: DataType, comment: str | None = None) -> None:
        self._name = name
        self._type = data_type
        self._comment = comment
        self._time: str | None = None

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """A column that is stored."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """A column whose values are computed from other columns."""
        return ComputedColumn(name, resolved_expression)

    @staticmethod
    def metadata(name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool) -> MetadataColumn:
        """A column of what the connector knows beside the row."""
        return MetadataColumn(name, data_type, metadata_key, is_virtual)

    def get_name(self) -> str:
        """The name."""
        return self._name

    def get_data_type(self) -> DataType:
        """The type."""
        return self._type

    def get_comment(self) -> str | None:
        """The column's comment, or None."""
        return self._comment

    def with_comment(self: _C, comment: str | None) -> _C:
        """A copy of this column with another comment, or without one."""
        return self._changed(_comment=comment)

    def rename(self: _C, new_name: str) -> _C:
        """A copy of this column with another name."""
        return self._changed(_name=new_name)

    def copy(self: _C, new_type: DataType) -> _C:
        """This column with another type."""
        return self._changed(_type=new_type)

    def as_time_attribute(self: _C, time: str | None) -> _C:
        """This column as ROWTIME, PROCTIME or (None) neither."""
        return self._changed(_time=time)

    @abstractmethod
    def is_physical(self) -> bool:
        """Whether the column is stored by the connector as part of the row."""

    @abstractmethod
    def is_persisted(self) -> bool:
        """Whether a sink writes the column."""

    @abstractmethod
    def explain_extras(self) -> str | None:
        """What is said about the column beside name and type."""

    def as_summary_string(self) -> str:
        """The column as one line of text."""
        extras = self.explain_extras()
        time = f" *{self._time}*" if self._time else ""
        comment = "" if self._comment is None else f" COMMENT '{self._comment}'"
        return f"`{self._name}` {self._type}{time}" + (f" {extras}" if extras else "") + comment

    def _changed(self: _C, **changes: object) -> _C:
        changed = copy.copy(self)
        changed.__dict__.update(changes)
        return changed

    def __str__(self) -> str:
        return self.as_summary_string()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other) and self._comment == other._comment

    def __hash__(self) -> int:
        return hash(str(self))


class PhysicalColumn(Column):
    """A column of the rows.

    >>> isinstance(Column.physical("n", DataTypes.INT()), PhysicalColumn)
    True
    """

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True

    def explain_extras(self) -> str | None:
        return None


class ComputedColumn(Column):
    """A column whose values are computed from other columns.

    >>> issubclass(ComputedColumn, Column)
    True
    """

    def __init__(self, name: str, expression: ResolvedExpression, comment: str | None = None) -> None:
        super().__init__(name, expression.get_output_data_type(), comment)
        self._expression = expression

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return False

    def get_expression(self) -> ResolvedExpression:
        """What it is computed by."""
        return self._expression

    def explain_extras(self) -> str | None:
        return f"AS {self._expression.as_summary_string()}"


class MetadataColumn(Column):
    """A column of what the connector knows about a row.

    >>> column = Column.metadata("at", DataTypes.TIMESTAMP(3), "timestamp", False)
    >>> column.get_metadata_key()
    'timestamp'
    """

    def __init__(
        self, name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool, comment: str | None = None
    ) -> None:
        super().__init__(name, data_type, comment)
        self._key = metadata_key
        self._virtual = is_virtual

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return not self._virtual

    def is_virtual(self) -> bool:
        """Whether it is read only."""
        return self._virtual

    def get_metadata_key(self) -> str | None:
        """The connector's name for the metadata of this column; None: it is the column's name."""
        return self._key

    def explain_extras(self) -> str | None:
        return "METADATA" + (f" FROM '{self._key}'" if self._key else "") + (" VIRTUAL" if self._virtual else "")


class WatermarkSpec:
    """A time attribute and its watermark.

    >>> [spec.as_summary_string() for spec in clicks.get_resolved_schema().get_watermark_specs()]
    ['WATERMARK FOR `at`: TIMESTAMP(3) AS `at`']
    """

    def __init__(self, rowtime_attribute: str, watermark_expression: ResolvedExpression) -> None:
        self._attribute = rowtime_attribute
        self._expression = watermark_expression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """A watermark for a column."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """The column that is the event time."""
        return self._attribute

    def get_watermark_expression(self) -> ResolvedExpression:
        """What the watermark is computed by."""
        return self._expression

    def as_summary_string(self) -> str:
        """The watermark as one line of text."""
        kind = self._expression.get_output_data_type()
        return f"WATERMARK FOR `{self._attribute}`: {kind} AS {self._expression.as_summary_string()}"

    def __str__(self) -> str:
        return self.as_summary_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatermarkSpec) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class Constraint(ABC):
    """Something that holds for all rows of a table.

    >>> issubclass(UniqueConstraint, Constraint)
    True
    """

    class ConstraintType(Enum):
        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str) -> None:
        self._name = name

    def get_name(self) -> str:
        """The name."""
        return self._name

    @abstractmethod
    def get_type(self) -> Constraint.ConstraintType:
        """The kind of constraint."""

    def is_enforced(self) -> bool:
        """Never: Millrace relies on it and does not check it."""
        return False

    @abstractmethod
    def as_summary_string(self) -> str:
        """The constraint as one line of text."""

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """A primary key.

    >>> UniqueConstraint.primary_key("pk", ["n"]).as_summary_string()
    'CONSTRAINT `pk` PRIMARY KEY (`n`) NOT ENFORCED'
    """

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        super().__init__(name)
        self._columns = list(columns)

    @staticmethod
    def primary_key(name: str, columns: list[str]) -> UniqueConstraint:
        """A primary key of these columns."""
        return UniqueConstraint(name, columns)

    def get_columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def get_type(self) -> Constraint.ConstraintType:
        return Constraint.ConstraintType.PRIMARY_KEY

    def get_type_string(self) -> str:
        """The kind as SQL has it."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        names = ", ".join(f"`{name}`" for name in self._columns)
        return f"CONSTRAINT `{self._name}` PRIMARY KEY ({names}) NOT ENFORCED"


class ResolvedSchema:
    """Columns, watermarks and primary key of a table or view.

    >>> ResolvedSchema.physical(["n"], [DataTypes.INT()]).get_column_names()
    ['n']
    """

    def __init__(
        self,
        columns: list[Column] | None = None,
        watermark_specs: list[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns = list(columns or ())
        self._watermarks = list(watermark_specs or ())
        self._primary_key = primary_key

    @staticmethod
    def of(columns: list[Column]) -> ResolvedSchema:
        """A schema of these columns."""
        return ResolvedSchema(columns)

    @staticmethod
    def physical(column_names: list[str], column_data_types: list[DataType]) -> ResolvedSchema:
        """A schema of stored columns with these names and types."""
        return ResolvedSchema([PhysicalColumn(*each) for each in zip(column_names, column_data_types, strict=True)])

    def get_column_count(self) -> int:
        """How many columns there are."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """The columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """The names of the columns."""
        return [column.get_name() for column in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """The types of the columns."""
        return [column.get_data_type() for column in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """By position or name; None if there is no such column."""
        if isinstance(column_index_or_name, int):
            within = 0 <= column_index_or_name < len(self._columns)
            return self._columns[column_index_or_name] if within else None
        return next((column for column in self._columns if column.get_name() == column_index_or_name), None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """The watermark, if there is one, in a list."""
        return list(self._watermarks)

    def get_primary_key(self) -> UniqueConstraint | None:
        """The key; None: there is none."""
        return self._primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """The places of the key's columns, from 0."""
        names = self.get_column_names()
        return [] if self._primary_key is None else [names.index(name) for name in self._primary_key.get_columns()]

    def to_source_row_data_type(self) -> DataType:
        """All columns."""
        return _row(self._columns)

    def to_physical_row_data_type(self) -> DataType:
        """The stored columns as one type."""
        return _row([column for column in self._columns if column.is_physical()])

    def to_sink_row_data_type(self) -> DataType:
        """The columns that are written."""
        return _row([column for column in self._columns if column.is_persisted()])

    def _declared(self) -> Schema:
        """The schema that a builder would make of the same columns."""
        from millrace.table.catalogs.objects import Declared, DeclaredKey, DeclaredWatermark, Schema

        columns = []
        for column in self._columns:
            name, comment = column.get_name(), column.get_comment()
            if isinstance(column, ComputedColumn):
                columns.append(Declared(name, expression=column.get_expression(), comment=comment))
            elif isinstance(column, MetadataColumn):
                key = column.get_metadata_key()
                columns.append(Declared(name, column.get_data_type(), None, True, key, column.is_virtual(), comment))
            else:
                columns.append(Declared(name, column.get_data_type(), comment=comment))
        watermark = None
        if self._watermarks:
            spec = self._watermarks[0]
            watermark = DeclaredWatermark(spec.get_rowtime_attribute(), spec.get_watermark_expression())
        key_ = self._primary_key
        return Schema(columns, watermark, None if key_ is None else DeclaredKey(key_.get_name(), tuple(key_._columns)))

    def __str__(self) -> str:
        parts = [*self._columns, *self._watermarks, *([] if self._primary_key is None else [self._primary_key])]
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _row(columns: Sequence[Column]) -> RowType:
    return RowType([RowField(column.get_name(), column.get_data_type()) for column in columns], False)


def resolved_schema(fields: Fields) -> ResolvedSchema:
    """The schema of a query: physical columns, some of them time attributes."""
    columns: list[Column] = [PhysicalColumn(field.name, field.type).as_time_attribute(field.time) for field in fields]
    return ResolvedSchema(columns)
