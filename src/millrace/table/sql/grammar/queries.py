"""Queries: WITH, SELECT, VALUES, set operations, and the clauses at their end."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from millrace.table.sql.grammar import expressions, relations
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.grouping import group_by
from millrace.table.sql.grammar.hints import hints
from millrace.table.sql.grammar.over import named_window, order_by
from millrace.table.sql.tokens import Kind

_Operand = Callable[[Cursor], exp.Expression]

_BEGINNINGS = {"SELECT", "WITH", "VALUES", "TABLE"}
_SET_OPERATIONS: dict[str, type[exp.SetOperation]] = {
    "UNION": exp.Union,
    "EXCEPT": exp.Except,
    "MINUS": exp.Except,
    "INTERSECT": exp.Intersect,
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


def query(cursor: Cursor) -> exp.Expression:
    """A query with all its clauses.

    :raises SqlParseError: something else.
    """
    begin = cursor.index
    if not cursor.take("WITH"):
        return _with_tail(cursor, _set_operations(cursor), begin)
    recursive = cursor.take("RECURSIVE")
    tables = cursor.listed(lambda: _common_table(cursor))
    with_ = cursor.put(exp.With(expressions=tables, recursive=recursive), begin)
    body = _with_tail(cursor, _set_operations(cursor), begin)
    if isinstance(body, exp.Values):
        body = cursor.put(exp.Subquery(this=body), begin)
    body.set("with_", with_)
    return body


def rest(cursor: Cursor, first: exp.Expression, begin: int) -> exp.Expression:
    """A query whose first operand, at token ``begin``, has been read."""
    return _with_tail(cursor, _set_operations(cursor, first, begin), begin)


def in_brackets(cursor: Cursor) -> exp.Subquery:
    """A query in brackets."""
    begin = cursor.index
    cursor.expect("(")
    if not starts(cursor):
        cursor.fail_expecting("a query")
    inner = query(cursor)
    cursor.expect(")")
    return cursor.put(exp.Subquery(this=inner), begin)


def table_name(cursor: Cursor) -> exp.Table:
    """A table by one to three names."""
    begin = cursor.index
    parts = [cursor.identifier("a name of a table")]
    while cursor.take("."):
        parts.append(cursor.identifier("a name of a table", after_dot=True))
    return relations.table(cursor, parts, begin)


def _common_table(cursor: Cursor) -> exp.CTE:
    begin = cursor.index
    alias = exp.TableAlias(this=cursor.identifier("a name of a table"))
    if cursor.at("("):
        alias.set("columns", cursor.in_brackets(lambda: cursor.identifier("a name of a column")))
    cursor.put(alias, begin)
    cursor.expect("AS")
    return cursor.put(exp.CTE(this=in_brackets(cursor).this, alias=alias), begin)


def _set_operations(cursor: Cursor, left: exp.Expression | None = None, begin: int | None = None) -> exp.Expression:
    begin = cursor.index if begin is None else begin
    left = _intersections(cursor, left, begin)
    while cursor.at_any("UNION", "EXCEPT", "MINUS"):
        left = _combined(cursor, left, begin, _intersections)
    return left


def _intersections(cursor: Cursor, left: exp.Expression | None = None, begin: int | None = None) -> exp.Expression:
    """INTERSECT binds more strongly than UNION and EXCEPT."""
    begin = cursor.index if begin is None else begin
    left = left or _operand(cursor)
    while cursor.at("INTERSECT"):
        left = _combined(cursor, left, begin, _operand)
    return left


def _combined(cursor: Cursor, left: exp.Expression, begin: int, operand: _Operand) -> exp.Expression:
    node = _SET_OPERATIONS[cursor.advance().word]
    distinct = cursor.take_any("ALL", "DISTINCT") != "ALL"
    return cursor.put(node(this=left, expression=operand(cursor), distinct=distinct), begin)


def _operand(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    if cursor.at("("):
        return in_brackets(cursor)
    if cursor.at("SELECT"):
        return _select(cursor)
    if cursor.take("VALUES"):
        return cursor.put(exp.Values(expressions=cursor.listed(lambda: _row(cursor))), begin)
    if cursor.take("TABLE"):
        table = table_name(cursor)
        return cursor.put(exp.Select(expressions=[exp.Star()], from_=exp.From(this=table)), begin)
    return cursor.fail_expecting("SELECT, VALUES, TABLE or WITH")


def _row(cursor: Cursor) -> exp.Tuple:
    begin = cursor.index
    value = expressions.expression(cursor)
    if isinstance(value, exp.Tuple):
        return value
    if isinstance(value, exp.Anonymous) and value.name.upper() == "ROW":
        return cursor.put(exp.Tuple(expressions=value.expressions), begin)
    return cursor.put(exp.Tuple(expressions=[value.this if isinstance(value, exp.Paren) else value]), begin)


def _select(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    cursor.expect("SELECT")
    found = exp.Select(hint=hints(cursor))
    at = cursor.index
    if cursor.take_any("DISTINCT", "ALL") == "DISTINCT":
        found.set("distinct", cursor.put(exp.Distinct(), at))
    found.set("expressions", cursor.listed(lambda: _item(cursor)))
    if cursor.at("INTO"):
        cursor.fail("SELECT .. INTO is not supported: write INSERT INTO table SELECT ..")
    if cursor.at("FROM"):
        found.set("from_", relations.from_clause(cursor))
        found.set("joins", relations.joins(cursor, found.args["from_"]))
    if cursor.at("WHERE"):
        found.set("where", _condition(cursor, exp.Where))
    if cursor.at("GROUP"):
        found.set("group", group_by(cursor))
    if cursor.at("HAVING"):
        found.set("having", _condition(cursor, exp.Having))
    if cursor.take("WINDOW"):
        found.set("windows", cursor.listed(lambda: named_window(cursor)))
    if cursor.at("QUALIFY"):
        found.set("qualify", _condition(cursor, exp.Qualify))
    return cursor.put(found, begin)


def _item(cursor: Cursor) -> exp.Expression:
    """One of what SELECT lists."""
    begin = cursor.index
    if cursor.take("*"):
        return cursor.put(exp.Star(), begin)
    value = expressions.expression(cursor)
    if cursor.take("AS"):
        return cursor.put(exp.Alias(this=value, alias=cursor.identifier("a name")), begin)
    if cursor.is_name():
        return cursor.put(exp.Alias(this=value, alias=cursor.identifier()), begin)
    return value


def _condition(cursor: Cursor, node: type[exp.Expression]) -> exp.Expression:
    begin = cursor.index
    cursor.advance()
    return cursor.put(node(this=expressions.expression(cursor)), begin)


def _with_tail(cursor: Cursor, body: exp.Expression, begin: int) -> exp.Expression:
    """ORDER BY, LIMIT, OFFSET and FETCH of a query."""
    if not cursor.at_any(*_TAIL):
        return body
    if cursor.at("ORDER"):
        body.set("order", order_by(cursor))
    while cursor.at_any("LIMIT", "OFFSET", "FETCH"):
        at = cursor.index
        word = cursor.advance().word
        key = "offset" if word == "OFFSET" else "limit"
        if body.args.get(key):
            cursor.fail(f"a second {word} in one query", at)
        if word == "LIMIT" and cursor.take("ALL"):
            continue
        if word == "FETCH":
            cursor.expect_any("FIRST", "NEXT")
        # FETCH FIRST ROW ONLY is one row.
        count = exp.Literal.number(1) if word == "FETCH" and cursor.at_any("ROW", "ROWS") else _count(cursor)
        body.set(key, cursor.put(exp.Offset(expression=count) if key == "offset" else exp.Limit(expression=count), at))
        if word != "LIMIT":
            cursor.take_any("ROW", "ROWS")
        if word == "FETCH":
            cursor.expect("ONLY")
    return cursor.put(body, begin)


def _count(cursor: Cursor) -> exp.Literal:
    begin = cursor.index
    if cursor.token.kind is not Kind.NUMBER:
        cursor.fail_expecting("a number of rows")
    return cursor.put(exp.Literal(this=str(cursor.integer("a whole number of rows")), is_string=False), begin)
