"""``Schema``: the columns, time attribute and key of a table, as a program or a DDL statement says them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.relational.types import DataType, RowType
from millrace.table.expression_methods.expression import Expression
from millrace.table.values.data_types import data_type_of
from millrace.table.values.program_errors import problem
from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.table.catalogs.resolved_schema import ResolvedSchema


__all__ = ["Schema"]


class Declared(Record):
    """A column. Exactly one of the three kinds: physical (a type alone), computed (``expression``), metadata."""

    name: str
    type: DataType | None = None
    expression: Expression[Any] | str | None = None
    metadata: bool = False
    metadata_key: str | None = None
    virtual: bool = False
    comment: str | None = None
    type_text: str | None = None
    """the type as a program wrote it, where it wrote text"""

    def __str__(self) -> str:
        if self.expression is not None:
            return f"`{self.name}` AS {_in_brackets(self.expression)}"
        text = f"`{self.name}` " + (f"[{self.type_text}]" if self.type_text is not None else str(self.type))
        if self.metadata:
            renamed = self.metadata_key not in (None, self.name)
            text += " METADATA" + (f" FROM '{self.metadata_key}'" if renamed else "")
            text += " VIRTUAL" if self.virtual else ""
        return text


def _in_brackets(expression: Expression[Any] | str) -> str:
    """SQL in brackets; an expression of the Table API is written as it prints."""
    return f"[{expression}]" if isinstance(expression, str) else str(expression)


class DeclaredWatermark(Record):
    column: str
    expression: Expression[Any] | str


class DeclaredKey(Record):
    name: str
    columns: tuple[str, ...]


class DeclaredDistribution(Record):
    """Buckets that a connector spreads the rows over by some columns. ``kind``: HASH, RANGE or None."""

    columns: tuple[str, ...] = ()
    kind: str | None = None
    buckets: int | None = None

    def __str__(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.columns)
        by = f" BY {self.kind or ''}({names})" if names else ""
        return f"DISTRIBUTED{by}" + (f" INTO {self.buckets} BUCKETS" if self.buckets is not None else "")


class Schema:
    """Columns, watermark and primary key; nothing is looked up or checked before the table is used.

    >>> schema = Schema.new_builder().column("name", "STRING").column("at", "TIMESTAMP(3)")
    >>> schema = schema.watermark("at", "at - INTERVAL '5' SECOND").build()
    """

    def __init__(
        self,
        columns: Sequence[Declared] = (),
        watermark: DeclaredWatermark | None = None,
        primary_key: DeclaredKey | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._watermark = watermark
        self._primary_key = primary_key

    @property
    def columns(self) -> tuple[Declared, ...]:
        """The columns as they were declared.

        >>> len(Schema.new_builder().column("n", "INT").build().columns)
        1
        """
        return self._columns

    @property
    def watermark(self) -> DeclaredWatermark | None:
        """The watermark as it was declared; None: there is none."""
        return self._watermark

    @property
    def primary_key(self) -> DeclaredKey | None:
        """The key as it was declared; None: there is none."""
        return self._primary_key

    def __str__(self) -> str:
        return self._text(self._columns)

    def _text(self, columns: Sequence[Declared]) -> str:
        lines = [str(column) for column in columns]
        if self._watermark is not None:
            lines.append(f"WATERMARK FOR `{self._watermark.column}` AS {_in_brackets(self._watermark.expression)}")
        if self._primary_key is not None:
            names = ", ".join(f"`{name}`" for name in self._primary_key.columns)
            lines.append(f"CONSTRAINT `{self._primary_key.name}` PRIMARY KEY ({names}) NOT ENFORCED")
        return "(\n" + ",\n".join(f"  {line}" for line in lines) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._read() == other._read()

    def __hash__(self) -> int:
        return hash(self._read())

    def _read(self) -> str:
        """The text with all types read, as catalogs keep them: how a type was written makes no other schema."""
        return self._text([replace(column, type_text=None) for column in self._columns])

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Begins a schema; ``build()`` ends it.

        >>> schema = Schema.new_builder().column("name", DataTypes.STRING()).primary_key("name").build()
        """
        return Schema.Builder()

    class Builder:
        """Makes a schema, column by column."""

        def __init__(self) -> None:
            self._columns: list[Declared] = []
            self._watermark: DeclaredWatermark | None = None
            self._primary_key: DeclaredKey | None = None

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """A physical column. Without types (of a DataStream's fields), see ``from_data_stream``."""
            return self._add(Declared(column_name, data_type_of(data_type), type_text=_text(data_type)))

        def column_by_expression(self, column_name: str, expr: str | Expression[Any]) -> Schema.Builder:
            """A column computed of others, in SQL or as an expression; it is not written by a sink."""
            return self._add(Declared(column_name, expression=expr))

        def column_by_metadata(
            self, column_name: str, data_type: DataType | str, metadata_key: str | None = None, is_virtual: bool = False
        ) -> Schema.Builder:
            """A column of what the connector knows about a row, e.g. its timestamp.

            :param is_virtual: it is read only, not written.
            """
            kind, key = data_type_of(data_type), metadata_key or column_name
            text = _text(data_type)
            return self._add(Declared(column_name, kind, None, True, key, is_virtual, type_text=text))

        def watermark(self, column_name: str, watermark_expr: str | Expression[Any]) -> Schema.Builder:
            """The event time: ``watermark("ts", "ts - INTERVAL '5' SECOND")``."""
            if self._watermark is not None:
                raise problem("a table has one watermark")
            self._watermark = DeclaredWatermark(column_name, watermark_expr)
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Columns that name a row. Millrace relies on it and does not check it."""
            return self.primary_key_named(f"PK_{'_'.join(column_names)}", *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            if self._primary_key is not None:
                raise problem("a table has one primary key")
            self._primary_key = DeclaredKey(constraint_name, column_names)
            return self

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Take over all that a schema says."""
            self._columns += unresolved_schema.columns
            self._watermark = unresolved_schema.watermark or self._watermark
            self._primary_key = unresolved_schema.primary_key or self._primary_key
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            return self.from_schema(resolved_schema._declared())

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """The fields of a ROW type as physical columns."""
            if not isinstance(data_type, RowType):
                raise problem(f"columns are taken from a ROW type, not from {data_type}")
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(self, field_names: Sequence[str], field_data_types: Sequence[DataType | str]) -> Schema.Builder:
            if len(field_names) != len(field_data_types):
                raise problem(f"{len(field_names)} names and {len(field_data_types)} types")
            for name, data_type in zip(field_names, field_data_types):
                self.column(name, data_type)
            return self

        def _add(self, column: Declared) -> Schema.Builder:
            if any(each.name == column.name for each in self._columns):
                raise problem(f"column '{column.name}' is there twice")
            self._columns.append(column)
            return self

        def build(self) -> Schema:
            known = {column.name for column in self._columns}
            for name in self._primary_key.columns if self._primary_key else ():
                if name not in known:
                    raise problem(f"the primary key names a column that is not there: '{name}'")
            return Schema(self._columns, self._watermark, self._primary_key)


def _text(data_type: DataType | str) -> str | None:
    return data_type if isinstance(data_type, str) else None
