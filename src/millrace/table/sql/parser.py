"""SQL text to statements: what the client, the table environment and the binder call.

    parse_script(text)      -> all statements of a script
    statements_of(text)     -> the same one by one: those before an error can be run
    parse_statement(text)   -> the only statement of a text
    is_complete(text)       -> whether a script ends with a semicolon, for a client that reads lines
    parse_query(text)       -> the tree of a query
    parse_expression(text)  -> the tree of an expression
    parse_match(text)       -> the clauses of MATCH_RECOGNIZE from ONE ROW or ALL ROWS on to PATTERN
    parse_type(text)        -> a data type

Statements are the dataclasses of ``statements/``, queries and expressions trees of the nodes in ``nodes/``. The grammar
is our own (``grammar/``), strict and Flink's. Every node knows its place, and ``writing/`` gives the text back. What
the types do not say:

- Operators are ``BuiltIn`` with their name in the registry: ``a <> b`` -> BuiltIn("<>", (a, b)), ``a IS NOT NULL`` ->
  BuiltIn("IS NOT NULL", (a,)), ``a IS JSON`` -> (a, Var(VALUE)), ``a LIKE b ESCAPE c`` -> BuiltIn("LIKE", (a, b, c)),
  ``ARRAY[..]`` -> BuiltIn("ARRAY", ..), ``MAP[..]`` -> BuiltIn("MAP", ..), ``a[b]`` -> BuiltIn("ITEM", (a, b)). Those
  that are more than a function of their operands have nodes of their own (``nodes/operators.py``).
- ``TABLE t`` is ``SELECT * FROM t``, ``FROM TABLE t`` is ``FROM t``, FETCH FIRST is LIMIT. A WITH before VALUES wraps
  it in a ``Subquery``. Every negated predicate but IS is ``Not`` round the plain one. A unary plus leaves no trace,
  ``Paren`` stays in the tree. WHEN 1, 2 THEN x is two branches.
- A column has up to four names; a fifth and more are ``Dot``. ``cat.db.f(x)`` is ``Dot`` with a ``Call`` behind it:
  ``call_path``, ``column_parts`` and ``table_path`` read names.
- Round a call, from inside: ``IgnoreNulls`` or ``RespectNulls``, ``WithinGroup``, ``Filter``, ``Window``.
- Calls with a syntax of their own are plain calls: ``EXTRACT(u FROM x)`` -> EXTRACT(Var(U), x); ``FLOOR(x TO u)``,
  ``CEIL``, ``CEILING`` -> FLOOR(x, Var(U)); ``TIMESTAMPADD(u, ..)``, ``TIMESTAMPDIFF(u, ..)`` -> (Var(U), ..);
  ``TRIM([BOTH] [c] FROM s)`` -> TRIM(Var(BOTH), c or ' ', s), but ``TRIM(s)`` -> TRIM(s); ``POSITION(a IN b)`` ->
  POSITION(a, b); ``OVERLAY(s PLACING r FROM i FOR n)`` -> OVERLAY(s, r, i, n); ``SUBSTRING(s FROM i FOR n)`` ->
  SUBSTRING(s, i, n); ``(a, b) OVERLAPS (c, d)`` -> OVERLAPS(a, b, c, d); ``CURRENT_DATE``, ``CURRENT_TIME``,
  ``CURRENT_TIMESTAMP``, ``LOCALTIME``, ``LOCALTIMESTAMP`` without brackets -> calls without arguments. Units are in
  upper case and singular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from millrace.relational.deep_calls import deep_calls
from millrace.relational.types import DataType
from millrace.table.sql import nodes, script
from millrace.table.sql.grammar import expressions, match_recognize, queries, types
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.statements.statement import statement
from millrace.table.sql.script import pieces
from millrace.table.sql.statements import Statement
from millrace.table.sql.text.errors import Position, SqlParseError
from millrace.table.sql.text.source import Source
from millrace.table.sql.text.tokens import tokenize

_T = TypeVar("_T")


def statements_of(text: str) -> Iterator[Statement]:
    """The statements of a script one by one. Their places are places of the script.

    :raises SqlParseError: at the statement that has the error; if a text or comment has no end, at once.
    """
    source = Source(text)
    for piece in pieces(tokenize(source)):
        yield _read(Cursor(source, piece), statement)


def parse_script(text: str) -> list[Statement]:
    """All statements of a script.

    :raises SqlParseError: one of them cannot be read.
    """
    return list(statements_of(text))


def parse_statement(text: str) -> Statement:
    """The statement of a text. A semicolon at its end is no harm.

    :raises SqlParseError: it cannot be read, or there is not exactly one.
    """
    source = Source(text)
    found = list(pieces(tokenize(source)))
    if len(found) > 1:
        second = found[1][0]
        message = "expected one statement, found more: run them one by one, or as a script"
        raise SqlParseError(message, Position(source, second.start, second.end))
    return _read(Cursor(source, found[0] if found else tokenize(source)), statement)


def is_complete(text: str) -> bool:
    """Whether every statement of a script has its semicolon. False within a text, a quoted name or a comment."""
    try:
        return script.is_complete(tokenize(Source(text)))
    except SqlParseError:
        return False


def parse_query(text: str) -> nodes.Node:
    """The tree of a query.

    :raises SqlParseError: the text is not a query.
    """
    return _whole(text, queries.query)


def parse_expression(text: str) -> nodes.Node:
    """The tree of an expression.

    :raises SqlParseError: the text is not an expression.
    """
    return _whole(text, expressions.expression)


def parse_match(text: str) -> nodes.MatchRecognize:
    """A MATCH_RECOGNIZE with the clauses of a text: rows per match, AFTER MATCH and PATTERN.

    :raises SqlParseError: the text is something else.
    """
    return _whole(text, match_recognize.match_clauses)


def parse_type(text: str) -> DataType:
    """A data type.

    :raises SqlParseError: the text is not a data type.
    """
    return _whole(text, types.data_type)


def _whole(text: str, read: Callable[[Cursor], _T]) -> _T:
    """What stands in a text, up to its end; one semicolon there is no harm."""
    source = Source(text)
    cursor = Cursor(source, tokenize(source))
    found = _read(cursor, read)
    cursor.take(";")
    cursor.expect_end()
    return found


def _read(cursor: Cursor, read: Callable[[Cursor], _T]) -> _T:
    begin = cursor.index
    try:
        with deep_calls():
            return read(cursor)
    except RecursionError:
        message = "brackets, queries or calls are nested too deeply: name a part with WITH, or create a view"
        raise SqlParseError(message, cursor.span(begin)) from None
