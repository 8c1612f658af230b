"""Parts that many statements have."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions, queries
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.hints import hints
from millrace.table.sql.nodes import hint_options
from millrace.table.sql.statements import Options, PartitionSpec, Written
from millrace.table.sql.text.names import Name


def if_exists(cursor: Cursor) -> bool:
    return cursor.take("IF", "EXISTS")


def if_not_exists(cursor: Cursor) -> bool:
    return cursor.take("IF", "NOT", "EXISTS")


def comment(cursor: Cursor) -> str | None:
    return cursor.string() if cursor.take("COMMENT") else None


def with_options(cursor: Cursor) -> Options:
    """WITH ('key' = 'value', ..), or nothing."""
    return options(cursor) if cursor.take("WITH") else {}


def options(cursor: Cursor) -> Options:
    """``('key' = 'value', ..)``."""
    found: dict[str, str] = {}
    cursor.expect("(")
    while not cursor.take(")"):
        if found:
            cursor.expect(",")
        begin = cursor.index
        key = cursor.string("a key in single quotes")
        if key in found:
            cursor.fail(f"the option '{key}' is given twice", begin)
        cursor.expect("=")
        found[key] = cursor.string("a value in single quotes")
    return found


def option_keys(cursor: Cursor) -> tuple[Name, ...]:
    """``('key', ..)``."""
    return tuple(cursor.in_brackets(lambda: cursor.string("a key in single quotes")))


def names(cursor: Cursor) -> tuple[Name, ...]:
    """``(a, b, ..)``."""
    return tuple(cursor.in_brackets(lambda: cursor.name("a name of a column")))


def partition(cursor: Cursor) -> PartitionSpec:
    """``(a = 'x', b)`` after PARTITION."""
    return tuple(cursor.in_brackets(lambda: _partition_column(cursor)))


def _partition_column(cursor: Cursor) -> tuple[Name, nodes.Node | None]:
    name = cursor.name("a name of a partition column")
    return name, expressions.operand(cursor) if cursor.take("=") else None


def table_options(cursor: Cursor) -> Options:
    """What OPTIONS says in the hint after a table."""
    found = hints(cursor)
    calls = found.expressions if found else []
    return {key: value for call in calls if call.name == "OPTIONS" for key, value in hint_options(call).items()}


def written_expression(cursor: Cursor) -> Written:
    begin = cursor.index
    tree = expressions.expression(cursor)
    return Written(tree, cursor.span(begin).text)


def written_query(cursor: Cursor) -> Written:
    """A query. Brackets round the whole of it have no meaning.

    :raises SqlParseError: something else.
    """
    if not queries.starts(cursor):
        cursor.fail_expecting("a query (SELECT, VALUES, WITH or TABLE)")
    begin = cursor.index
    tree = queries.query(cursor)
    return Written(tree, cursor.span(begin).text)
