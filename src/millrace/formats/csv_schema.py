"""``CsvSchema``: the columns and the dialect of CSV text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from millrace.formats.arrow_rows import arrow_type

__all__ = ["CsvColumn", "CsvDialect", "CsvSchema", "CsvSchemaBuilder"]


@dataclass(frozen=True)
class CsvColumn:
    """A column: its Arrow type and, for arrays, the text between elements (None: the dialect's)."""

    name: str
    type: Any
    separator: str | None = None


@dataclass(frozen=True)
class CsvDialect:
    """How values become text."""

    column_separator: str = ","
    quote_char: str | None = '"'
    escape_char: str | None = None
    array_separator: str = ";"
    line_separator: str = "\n"
    null_value: str | None = None
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False
    allow_comments: bool = False
    drop_more_fields: bool = False
    """a record may have more fields than the schema has columns"""


@dataclass(frozen=True)
class CsvSchema:
    """Columns and dialect; make one with ``CsvSchema.builder()``.

    >>> schema = CsvSchema.builder().add_string_column("name").add_number_column("amount").build()
    >>> schema.size(), schema.names
    (2, ['name', 'amount'])
    """

    columns: tuple[CsvColumn, ...]
    dialect: CsvDialect = field(default_factory=CsvDialect)

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begins a schema; ``build()`` ends it."""
        return CsvSchemaBuilder()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def arrow_schema(self) -> Any:
        """The columns as a schema of Arrow."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def size(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.size()

    def __str__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.type}" for column in self.columns)
        return f"CsvSchema({columns}; {self.dialect})"


def _one_char(what: str, char: str) -> str:
    if len(char) != 1:
        raise ValueError(f"{what} must be a single char, got {char}")
    return char


class CsvSchemaBuilder:
    """Builds a ``CsvSchema``. The column and separator methods raise ValueError for what is not a single character.

    >>> builder = CsvSchemaBuilder().add_string_column("name").add_number_column("amount", DataTypes.INT())
    >>> builder.set_column_separator(";").set_use_header().build().names
    ['name', 'amount']
    """

    def __init__(self) -> None:
        self._columns: list[CsvColumn] = []
        self._dialect = CsvDialect()

    def build(self) -> CsvSchema:
        """:raises ValueError: if two columns have the same name."""
        schema = CsvSchema(tuple(self._columns), self._dialect)
        if len(set(schema.names)) < len(schema):
            raise ValueError(f"column names must be unique, got {', '.join(schema.names)}")
        return schema

    def _add(self, column: CsvColumn) -> CsvSchemaBuilder:
        self._columns.append(column)
        return self

    def _set(self, **options: Any) -> CsvSchemaBuilder:
        self._dialect = replace(self._dialect, **options)
        return self

    def add_array_column(self, name: str, separator: str = ";", element_type: Any = None) -> CsvSchemaBuilder:
        """A list of simple values; ``element_type`` is a type of ``Types`` or ``DataTypes``, by default a string."""
        element = pa.string() if element_type is None else arrow_type(element_type)
        return self._add(CsvColumn(name, pa.list_(element), separator))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of ``true`` and ``false``."""
        return self._add(CsvColumn(name, pa.bool_()))

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """A number; ``number_type`` is a type of ``Types`` or ``DataTypes``, by default a 64 bit integer."""
        return self._add(CsvColumn(name, pa.int64() if number_type is None else arrow_type(number_type)))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of text."""
        return self._add(CsvColumn(name, pa.string()))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """All columns of another schema (not its dialect)."""
        self._columns.extend(schema.columns)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget the columns so far."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skip lines that start with ``#``."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Accept records with more fields than columns; as in Flink, what belongs to no column is dropped."""
        return self._set(drop_more_fields=name is not None)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """An array column without its own separator has at most one element."""
        return self._set(array_separator="")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """The array column at ``index`` has at most one element."""
        self._columns[index] = replace(self._columns[index], separator="")
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """The separator of array columns that have none of their own."""
        return self._set(array_separator=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """By default a comma."""
        return self._set(column_separator=_one_char("Column separator", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """No character escapes others."""
        return self._set(escape_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """By default there is none."""
        return self._set(escape_char=_one_char("Escape char", char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """For writing, by default ``\\n``; reading takes ``\\n``, ``\\r`` and ``\\r\\n``."""
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """The text of None. Without one, an empty field is None, but "" in a string column."""
        return self._set(null_value=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """No character quotes others."""
        return self._set(quote_char=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """By default ``"``."""
        return self._set(quote_char=_one_char("Quote char", char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Skip the first row of each file (after the header, if there is one)."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """With ``set_use_header``: the header must name the columns of the schema in its order."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """The first line of a file is a header: skipped when reading, written when writing."""
        return self._set(use_header=use)

    def size(self) -> int:
        """The number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.size()


def schema_of_fields(names: Sequence[str], types: Sequence[Any], dialect: CsvDialect) -> CsvSchema:
    """A schema of Arrow types; arrays use the dialect's separator."""
    return CsvSchema(tuple(map(CsvColumn, names, types)), dialect)
