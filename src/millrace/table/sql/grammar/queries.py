"""Queries: WITH, SELECT, VALUES, set operations, and the clauses at their end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions, relations
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.grouping import group_by
from millrace.table.sql.grammar.hints import hints
from millrace.table.sql.grammar.over import named_window, order_by
from millrace.table.sql.text.tokens import Kind

N = TypeVar("N", nodes.Where, nodes.Having, nodes.Qualify)
_Operand = Callable[[Cursor], nodes.Query]

_BEGINNINGS = {"SELECT", "WITH", "VALUES", "TABLE"}
_SET_OPERATIONS: dict[str, type[nodes.SetOperation]] = {
    "UNION": nodes.Union,
    "EXCEPT": nodes.Except,
    "MINUS": nodes.Except,
    "INTERSECT": nodes.Intersect,
}
_TAIL = ("ORDER", "LIMIT", "OFFSET", "FETCH")


def starts(cursor: Cursor, distance: int = 0, nested: bool = True) -> bool:
    """Whether a query begins so many tokens ahead. ``nested``: or brackets that begin with one."""
    while nested and cursor.peek(distance).word == "(":
        distance += 1
    word = cursor.peek(distance).word
    return word in _BEGINNINGS and not (word == "TABLE" and cursor.peek(distance + 1).word == "(")


def continues(cursor: Cursor) -> bool:
    """Whether what comes next can only follow a query."""
    return cursor.token.word in _SET_OPERATIONS or cursor.at_any(*_TAIL)


def query(cursor: Cursor) -> nodes.Query:
    """A query with all its clauses.

    :raises SqlParseError: something else.
    """
    begin = cursor.index
    if not cursor.take("WITH"):
        return _with_tail(cursor, _set_operations(cursor), begin)
    recursive = cursor.take("RECURSIVE")
    tables = cursor.listed(lambda: _common_table(cursor))
    with_ = cursor.put(nodes.With(expressions=tables, recursive=recursive), begin)
    body = _with_tail(cursor, _set_operations(cursor), begin)
    if isinstance(body, nodes.Values):
        body = cursor.put(nodes.Subquery(this=body), begin)
    return replace(body, with_=with_)


def rest(cursor: Cursor, first: nodes.Query, begin: int) -> nodes.Query:
    """A query whose first operand, at token ``begin``, has been read."""
    return _with_tail(cursor, _set_operations(cursor, first, begin), begin)


def in_brackets(cursor: Cursor) -> nodes.Subquery:
    """A query in brackets."""
    begin = cursor.index
    cursor.expect("(")
    if not starts(cursor):
        cursor.fail_expecting("a query")
    inner = query(cursor)
    cursor.expect(")")
    return cursor.put(nodes.Subquery(this=inner), begin)


def table_name(cursor: Cursor) -> nodes.Table:
    """A table by one to three names."""
    begin = cursor.index
    parts = [cursor.identifier("a name of a table")]
    while cursor.take("."):
        parts.append(cursor.identifier("a name of a table", after_dot=True))
    return relations.table(cursor, parts, begin)


def _common_table(cursor: Cursor) -> nodes.CTE:
    begin = cursor.index
    name = cursor.identifier("a name of a table")
    columns = cursor.in_brackets(lambda: cursor.identifier("a name of a column")) if cursor.at("(") else ()
    alias = cursor.put(nodes.TableAlias(this=name, columns=columns), begin)
    cursor.expect("AS")
    return cursor.put(nodes.CTE(this=in_brackets(cursor).this, alias=alias), begin)


def _set_operations(cursor: Cursor, left: nodes.Query | None = None, begin: int | None = None) -> nodes.Query:
    begin = cursor.index if begin is None else begin
    left = _intersections(cursor, left, begin)
    while cursor.at_any("UNION", "EXCEPT", "MINUS"):
        left = _combined(cursor, left, begin, _intersections)
    return left


def _intersections(cursor: Cursor, left: nodes.Query | None = None, begin: int | None = None) -> nodes.Query:
    """INTERSECT binds more strongly than UNION and EXCEPT."""
    begin = cursor.index if begin is None else begin
    left = left or _operand(cursor)
    while cursor.at("INTERSECT"):
        left = _combined(cursor, left, begin, _operand)
    return left


def _combined(cursor: Cursor, left: nodes.Query, begin: int, operand: _Operand) -> nodes.Query:
    node = _SET_OPERATIONS[cursor.advance().word]
    distinct = cursor.take_any("ALL", "DISTINCT") != "ALL"
    return cursor.put(node(this=left, expression=operand(cursor), distinct=distinct), begin)


def _operand(cursor: Cursor) -> nodes.Query:
    begin = cursor.index
    if cursor.at("("):
        return in_brackets(cursor)
    if cursor.at("SELECT"):
        return _select(cursor)
    if cursor.take("VALUES"):
        return cursor.put(nodes.Values(expressions=cursor.listed(lambda: _row(cursor))), begin)
    if cursor.take("TABLE"):
        table = table_name(cursor)
        return cursor.put(nodes.Select(expressions=(nodes.Star(),), from_=nodes.From(this=table)), begin)
    return cursor.fail_expecting("SELECT, VALUES, TABLE or WITH")


def _row(cursor: Cursor) -> nodes.Tuple:
    begin = cursor.index
    value = expressions.expression(cursor)
    if isinstance(value, nodes.Tuple):
        return value
    if isinstance(value, nodes.Call) and value.name.upper() == "ROW":
        return cursor.put(nodes.Tuple(expressions=value.expressions), begin)
    return cursor.put(nodes.Tuple(expressions=(value.this if isinstance(value, nodes.Paren) else value,)), begin)


def _select(cursor: Cursor) -> nodes.Query:
    begin = cursor.index
    cursor.expect("SELECT")
    clauses: dict[str, Any] = {"hint": hints(cursor)}
    at = cursor.index
    if cursor.take_any("DISTINCT", "ALL") == "DISTINCT":
        clauses["distinct"] = cursor.put(nodes.Distinct(), at)
    clauses["expressions"] = cursor.listed(lambda: _item(cursor))
    if cursor.at("INTO"):
        cursor.fail("SELECT .. INTO is not supported: write INSERT INTO table SELECT ..")
    if cursor.at("FROM"):
        clauses["from_"] = relations.from_clause(cursor)
        clauses["joins"] = relations.joins(cursor)
    if cursor.at("WHERE"):
        clauses["where"] = _condition(cursor, nodes.Where)
    if cursor.at("GROUP"):
        clauses["group"] = group_by(cursor)
    if cursor.at("HAVING"):
        clauses["having"] = _condition(cursor, nodes.Having)
    if cursor.take("WINDOW"):
        clauses["windows"] = cursor.listed(lambda: named_window(cursor))
    if cursor.at("QUALIFY"):
        clauses["qualify"] = _condition(cursor, nodes.Qualify)
    return cursor.put(nodes.Select(**clauses), begin)


def _item(cursor: Cursor) -> nodes.Node:
    """One of what SELECT lists."""
    begin = cursor.index
    if cursor.take("*"):
        return cursor.put(nodes.Star(), begin)
    value = expressions.expression(cursor)
    if cursor.take("AS"):
        return cursor.put(nodes.Alias(this=value, alias=cursor.identifier("a name")), begin)
    if cursor.is_name():
        return cursor.put(nodes.Alias(this=value, alias=cursor.identifier()), begin)
    return value


def _condition(cursor: Cursor, node: type[N]) -> N:
    begin = cursor.index
    cursor.advance()
    return cursor.put(node(this=expressions.expression(cursor)), begin)


def _with_tail(cursor: Cursor, body: nodes.Query, begin: int) -> nodes.Query:
    """ORDER BY, LIMIT, OFFSET and FETCH of a query."""
    if not cursor.at_any(*_TAIL):
        return body
    clauses: dict[str, Any] = {"order": order_by(cursor)} if cursor.at("ORDER") else {}
    while cursor.at_any("LIMIT", "OFFSET", "FETCH"):
        at = cursor.index
        word = cursor.advance().word
        key = "offset" if word == "OFFSET" else "limit"
        if clauses.get(key) or getattr(body, key):
            cursor.fail(f"a second {word} in one query", at)
        if word == "LIMIT" and cursor.take("ALL"):
            continue
        if word == "FETCH":
            cursor.expect_any("FIRST", "NEXT")
        # FETCH FIRST ROW ONLY is one row.
        count = nodes.Literal.number(1) if word == "FETCH" and cursor.at_any("ROW", "ROWS") else _count(cursor)
        clauses[key] = cursor.put(nodes.Offset(count) if key == "offset" else nodes.Limit(count), at)
        if word != "LIMIT":
            cursor.take_any("ROW", "ROWS")
        if word == "FETCH":
            cursor.expect("ONLY")
    return cursor.put(replace(body, **clauses), begin)


def _count(cursor: Cursor) -> nodes.Literal:
    begin = cursor.index
    if cursor.token.kind is not Kind.NUMBER:
        cursor.fail_expecting("a number of rows")
    return cursor.put(nodes.Literal(this=str(cursor.integer("a whole number of rows")), is_string=False), begin)
