"""What stands in the brackets of CREATE TABLE: columns, a watermark, a primary key."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.table.sql.grammar.common import comment, names, written_expression
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.types import data_type
from millrace.table.sql.statements import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKey,
    Schema,
    Watermark,
)
from millrace.table.sql.text.names import Name


def schema(cursor: Cursor) -> Schema:
    """``( column, .., WATERMARK .., PRIMARY KEY .. )``.

    :raises SqlParseError: a name twice, two watermarks or two keys.
    """
    columns: list[Column] = []
    watermark: Watermark | None = None
    key: PrimaryKey | None = None
    cursor.expect("(")
    while not cursor.take(")"):
        if columns or watermark or key:
            cursor.expect(",")
        begin = cursor.index
        if at_watermark(cursor):
            if watermark:
                cursor.fail("a table has one watermark at most", begin)
            watermark = read_watermark(cursor)
        elif at_constraint(cursor):
            if key:
                cursor.fail("a table has one primary key at most", begin)
            key = constraint(cursor)
        else:
            if any(one.name == cursor.token.text for one in columns):
                cursor.fail(f"the column '{cursor.token.text}' is declared twice")
            one, of_column = column(cursor)
            columns.append(one)
            if of_column and key:
                cursor.fail("a table has one primary key at most", begin)
            key = of_column or key
    return Schema(tuple(columns), watermark, key)


def column(cursor: Cursor) -> tuple[Column, PrimaryKey | None]:
    """A column, and the key if it says PRIMARY KEY."""
    name = cursor.name("a name of a column")
    if cursor.take("AS"):
        return ComputedColumn(name, written_expression(cursor), comment(cursor)), None
    of_type = data_type(cursor)
    if cursor.take("METADATA"):
        key = cursor.string() if cursor.take("FROM") else None
        return MetadataColumn(name, of_type, key, cursor.take("VIRTUAL"), comment(cursor)), None
    primary = _primary_key_of_column(cursor, name)
    if cursor.at("UNIQUE"):
        cursor.fail("UNIQUE is not supported: only PRIMARY KEY .. NOT ENFORCED")
    remark = comment(cursor)
    return PhysicalColumn(name, of_type, remark), primary or _primary_key_of_column(cursor, name)


def _primary_key_of_column(cursor: Cursor, name: Name) -> PrimaryKey | None:
    if cursor.take("CONSTRAINT"):
        constraint_name = cursor.name("a name of the constraint")
        cursor.expect("PRIMARY", "KEY")
    elif cursor.take("PRIMARY", "KEY"):
        constraint_name = None
    else:
        return None
    _not_enforced(cursor)
    return PrimaryKey((name,), constraint_name)


def at_watermark(cursor: Cursor) -> bool:
    return cursor.at("WATERMARK", "FOR")


def read_watermark(cursor: Cursor) -> Watermark:
    cursor.expect("WATERMARK", "FOR")
    column_path = cursor.path("a name of a column")
    cursor.expect("AS")
    return Watermark(column_path, written_expression(cursor))


def at_constraint(cursor: Cursor) -> bool:
    return cursor.at("PRIMARY", "KEY") or cursor.at("CONSTRAINT") or cursor.at("UNIQUE", "(")


def constraint(cursor: Cursor) -> PrimaryKey:
    name = cursor.name("a name of the constraint") if cursor.take("CONSTRAINT") else None
    if cursor.at("UNIQUE"):
        cursor.fail("UNIQUE is not supported: only PRIMARY KEY .. NOT ENFORCED")
    cursor.expect("PRIMARY", "KEY")
    columns = names(cursor)
    _not_enforced(cursor)
    return PrimaryKey(columns, name)


def _not_enforced(cursor: Cursor) -> None:
    if not cursor.take("NOT", "ENFORCED"):
        cursor.fail_expecting("NOT ENFORCED after PRIMARY KEY: nothing checks the rows")


def only_physical(columns: Sequence[Column], cursor: Cursor, begin: int) -> tuple[PhysicalColumn, ...]:
    """Columns of a model, which are all plain."""
    plain = tuple(column for column in columns if isinstance(column, PhysicalColumn))
    if len(plain) != len(columns):
        cursor.fail("a model has plain columns only: name and type", begin)
    return plain
