"""INSERT, statement sets, DELETE, UPDATE, TRUNCATE, CALL, and queries as statements."""

from __future__ import annotations

from dataclasses import replace

from millrace.table.sql.grammar import calls, queries
from millrace.table.sql.grammar.common import (
    names,
    partition,
    table_options,
    written_expression,
    written_query,
)
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.statements import (
    Call,
    Delete,
    Insert,
    Query,
    Statement,
    StatementSet,
    Truncate,
    Update,
    Written,
)
from millrace.table.sql.text.names import Name


def query(cursor: Cursor) -> Query:
    begin = cursor.index
    tree = queries.query(cursor)
    return Query(tree, position=cursor.span(begin))


def insert(cursor: Cursor) -> Insert:
    begin = cursor.index
    cursor.expect("INSERT")
    overwrite = cursor.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
    path = cursor.path("a name of a table")
    options = table_options(cursor)
    spec = partition(cursor) if cursor.take("PARTITION") else ()
    columns = () if queries.starts(cursor) or not cursor.at("(") else names(cursor)
    found = written_query(cursor)
    on_conflict = None
    if cursor.take("ON", "CONFLICT"):
        cursor.expect("DO")
        on_conflict = cursor.expect_any("ERROR", "NOTHING", "DEDUPLICATE")
    return Insert(path, found, columns, spec, overwrite, options, on_conflict, position=cursor.span(begin))


def statement_block(cursor: Cursor) -> StatementSet:
    """BEGIN STATEMENT SET; .. END as a statement of its own: nothing may be in it, as in Flink's client."""
    return statement_set(cursor, may_be_empty=True)


def statement_set(cursor: Cursor, may_be_empty: bool = False) -> StatementSet:
    """BEGIN STATEMENT SET; .. END, or STATEMENT SET BEGIN .. END.

    :raises SqlParseError: something else than INSERT in it, or nothing.
    """
    begin = cursor.index
    if cursor.take("BEGIN"):
        if cursor.at_any("TRANSACTION", "WORK"):
            cursor.fail("there are no transactions; BEGIN STATEMENT SET runs INSERTs as one job")
        cursor.expect("STATEMENT", "SET")
        cursor.expect(";")
    else:
        cursor.expect("STATEMENT", "SET", "BEGIN")
    inserts: list[Insert] = []
    while not cursor.take("END"):
        if not cursor.at("INSERT"):
            cursor.fail_expecting("INSERT, or END of the statement set")
        inserts.append(insert(cursor))
        cursor.expect(";")
    if not inserts and not may_be_empty:
        cursor.fail("a statement set needs an INSERT at least", begin)
    return StatementSet(tuple(inserts), position=cursor.span(begin))


def executable(cursor: Cursor) -> Query | Insert | StatementSet:
    """What EXPLAIN and EXECUTE take: a query, an insert or a statement set."""
    if cursor.at("INSERT"):
        return insert(cursor)
    if cursor.at_any("STATEMENT", "BEGIN"):
        return statement_set(cursor)
    if not queries.starts(cursor):
        cursor.fail_expecting("a query, INSERT or STATEMENT SET")
    return query(cursor)


def execute(cursor: Cursor) -> Statement:
    """EXECUTE and what it runs; EXECUTE PLAN is elsewhere."""
    begin = cursor.index
    cursor.expect("EXECUTE")
    return replace(executable(cursor), position=cursor.span(begin))


def delete(cursor: Cursor) -> Delete:
    cursor.expect("DELETE", "FROM")
    path = cursor.path("a name of a table")
    return Delete(path, _where(cursor))


def update(cursor: Cursor) -> Update:
    cursor.expect("UPDATE")
    path = cursor.path("a name of a table")
    cursor.expect("SET")
    assignments = tuple(cursor.listed(lambda: _assignment(cursor)))
    return Update(path, assignments, _where(cursor))


def _assignment(cursor: Cursor) -> tuple[Name, Written]:
    column = cursor.name("a name of a column")
    cursor.expect("=")
    return column, written_expression(cursor)


def _where(cursor: Cursor) -> Written | None:
    return written_expression(cursor) if cursor.take("WHERE") else None


def truncate(cursor: Cursor) -> Truncate:
    cursor.expect("TRUNCATE", "TABLE")
    return Truncate(cursor.path("a name of a table"))


def call(cursor: Cursor) -> Call:
    cursor.expect("CALL")
    path = cursor.path("a name of a procedure")
    cursor.expect("(")
    arguments = [] if cursor.at(")") else cursor.listed(lambda: calls.argument(cursor))
    cursor.expect(")")
    return Call(path, tuple(arguments))
