"""Data types that a program may give as SQL text."""

from __future__ import annotations

from millrace.relational.types import DataType


def data_type_of(given: DataType | str) -> DataType:
    """The data type, read if it is text: ``ROW<a INT NOT NULL, b ARRAY<STRING>>``. ``str(type)`` writes such text.

    :raises SqlParseError: no data type looks like that.
    """
    if isinstance(given, DataType):
        return given
    from millrace.table.sql.parser import parse_type  # the grammar is loaded by those who need it

    return parse_type(given)
