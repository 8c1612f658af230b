"""Queries: WITH, SELECT, VALUES, set operations, the clauses at their end, and what stands in FROM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from millrace.table.sql import nodes
from millrace.table.sql.grammar import calls, expressions
from millrace.table.sql.grammar.clauses import group_by, hints, match_recognize, named_window, order_by, sampled
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.nodes import Joined, TableFunction
from millrace.table.sql.text import Kind, SqlParseError

# FROM

_ELSEWHERE = {
    "PIVOT": "aggregate with FILTER (WHERE ..)",
    "UNPIVOT": "use CROSS JOIN UNNEST(ARRAY[ROW(..), ..])",
}


def from_clause(cursor: Cursor) -> nodes.From:
    begin = cursor.index
    cursor.expect("FROM")
    return cursor.put(nodes.From(this=relation(cursor)), begin)


def joins(cursor: Cursor) -> tuple[nodes.Join, ...]:
    """All joins after the first relation of FROM; a comma is a CROSS JOIN."""
    found = _joins(cursor)
    while cursor.at(","):
        begin = cursor.index
        cursor.advance()
        right, at = relation(cursor), begin + 1
        more = _joins(cursor)
        if any(join.side in ("RIGHT", "FULL") for join in more):
            # Such a join keeps rows of what follows the comma alone, so it has to happen first.
            right, more = cursor.put(Joined(this=right, joins=tuple(more)), at), []
        found.append(cursor.put(nodes.Join(this=right, kind="CROSS"), begin))
        found.extend(more)
    return tuple(found)


def _joins(cursor: Cursor) -> list[nodes.Join]:
    found = []
    while (join := _join(cursor)) is not None:
        found.append(join)
    return found


def _join(cursor: Cursor) -> nodes.Join | None:
    begin = cursor.index
    method = cursor.take_any("NATURAL") or None
    side = cursor.take_any("LEFT", "RIGHT", "FULL") or None
    kind: str | None = cursor.take_any("OUTER") if side else cursor.take_any("INNER", "CROSS")
    if cursor.at_any("SEMI", "ANTI"):
        cursor.fail(f"{cursor.token.word} JOIN is not part of Flink SQL: use [NOT] EXISTS or [NOT] IN with a query")
    if cursor.at_any("APPLY", "ASOF") and cursor.peek().word in ("JOIN", "LATERAL", "TABLE", "("):
        cursor.fail(f"{cursor.token.word} is not supported: use JOIN LATERAL TABLE(..), or a temporal join")
    if not cursor.take("JOIN"):
        if cursor.index > begin:
            cursor.fail_expecting("JOIN")
        return None
    right = relation(cursor)
    join = nodes.Join(this=right, side=side, kind=kind or ("OUTER" if side else "INNER"), method=method)
    if cursor.take("ON"):
        join = replace(join, on=expressions.expression(cursor))
    elif cursor.take("USING"):
        join = replace(join, using=cursor.in_brackets(lambda: cursor.identifier("a name of a column")))
    elif kind != "CROSS" and method is None:
        cursor.fail_expecting("ON or USING of JOIN")
    return cursor.put(join, begin)


def relation(cursor: Cursor) -> nodes.Node:
    """A table, query or call, with its alias."""
    begin = cursor.index
    found = _relation(cursor, begin)
    if cursor.take("FOR", "SYSTEM_TIME", "AS", "OF"):
        if not isinstance(found, nodes.Table):
            cursor.fail("FOR SYSTEM_TIME AS OF stands after the name of a table", begin)
        moment = expressions.operand(cursor)
        found = cursor.put(replace(found, version=cursor.put(nodes.Version(moment), begin)), begin)
    if cursor.at("MATCH_RECOGNIZE"):
        found = match_recognize(cursor, found, begin)
    if cursor.token.word in _ELSEWHERE:
        cursor.fail(f"{cursor.token.word} is not supported: {_ELSEWHERE[cursor.token.word]}")
    found = _aliased(cursor, found, begin)
    if cursor.at("MATCH_RECOGNIZE") and not isinstance(found, nodes.MatchRecognize):
        # The input has a name of its own, as in the text that Flink keeps of a view.
        found = _aliased(cursor, match_recognize(cursor, found, begin), begin)
    return sampled(cursor, found, begin)


def table(cursor: Cursor, parts: Sequence[nodes.Identifier], begin: int) -> nodes.Table:
    if len(parts) > 3:
        cursor.fail("a table has three names at most: catalog, database, table", begin)
    db, catalog = [*parts[-2::-1], None, None][:2]
    return cursor.put(nodes.Table(parts[-1], db, catalog), begin)


def _relation(cursor: Cursor, begin: int) -> nodes.Node:
    if cursor.take("LATERAL"):
        return _lateral(cursor, begin)
    if cursor.at("TABLE", "("):
        return _called(cursor, begin, lateral=False)
    if cursor.at("UNNEST"):
        return _unnest(cursor)
    if cursor.at("("):
        return _in_brackets(cursor)
    if cursor.token.kind is Kind.STRING:
        return _file(cursor)
    cursor.take("TABLE")
    parts = [cursor.identifier("a table")]
    while cursor.take("."):
        parts.append(cursor.identifier("a name of a table", after_dot=True))
    if cursor.at("("):
        cursor.index = begin
        return cursor.put(TableFunction(this=_call(cursor), lateral=False), begin)
    found = table(cursor, parts, begin)
    hint = hints(cursor)
    if hint is not None:
        found = cursor.put(replace(found, hints=(hint,)), begin)
    return found


def _file(cursor: Cursor) -> nodes.Node:
    """The path of a file in quotes, which is a table, too."""
    begin = cursor.index
    path = cursor.put(nodes.Literal.string(cursor.string("a path")), begin)
    return cursor.put(TableFunction(this=cursor.put(nodes.Call("READ_FILE", (path,)), begin)), begin)


def _lateral(cursor: Cursor, begin: int) -> nodes.Node:
    if cursor.at("TABLE"):
        return _called(cursor, begin, lateral=True)
    if cursor.at("UNNEST"):
        return _unnest(cursor)
    if cursor.at("("):
        return cursor.put(nodes.Lateral(this=in_brackets(cursor)), begin)
    return cursor.put(TableFunction(this=_call(cursor), lateral=True), begin)


def _called(cursor: Cursor, begin: int, lateral: bool) -> nodes.Node:
    """TABLE( call )."""
    cursor.expect("TABLE", "(")
    call = _call(cursor)
    cursor.expect(")")
    return cursor.put(TableFunction(this=call, lateral=lateral), begin)


def _call(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    if calls.starts(cursor):
        return calls.call(cursor)
    parts = [cursor.identifier("a call of a function")]
    while cursor.take("."):
        if cursor.peek().word == "(":
            return calls.qualified(cursor, parts, begin)
        parts.append(cursor.identifier("a name of a function", after_dot=True))
    return cursor.fail_expecting("'(' after the name of a function")


def _unnest(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    cursor.expect("UNNEST", "(")
    value = expressions.expression(cursor)
    if cursor.at(","):
        cursor.fail("UNNEST takes one array, map or multiset: join one UNNEST for each")
    cursor.expect(")")
    ordinality = cursor.take("WITH", "ORDINALITY")
    return cursor.put(nodes.Unnest(expressions=(value,), offset=ordinality), begin)


def _in_brackets(cursor: Cursor) -> nodes.Node:
    """A query or a join in brackets. Which of them, is only known at the end of ``((SELECT ..) ..``."""
    begin = cursor.index
    as_query: SqlParseError | None = None
    if starts(cursor):
        try:
            return in_brackets(cursor)
        except SqlParseError as error:
            if cursor.peek(begin + 1 - cursor.index).word != "(":
                raise
            as_query, cursor.index = error, begin
    try:
        cursor.expect("(")
        inner = relation(cursor)
        found = _joins(cursor)
        cursor.expect(")")
    except SqlParseError as error:
        # Of the two readings, the one that got further is what was meant.
        raise max(filter(None, [as_query, error]), key=lambda one: one.position.start if one.position else 0) from None
    return cursor.put(Joined(this=inner, joins=tuple(found)), begin) if found else inner


def _aliased(cursor: Cursor, found: nodes.Node, begin: int) -> nodes.Node:
    at = cursor.index
    if not cursor.take("AS") and not cursor.is_name():
        return found
    if isinstance(found, Joined):
        cursor.fail("a join in brackets has no name: put SELECT * FROM before it", at)
    name = cursor.identifier("a name")
    columns = cursor.in_brackets(lambda: cursor.identifier("a name of a column")) if cursor.at("(") else ()
    alias = cursor.put(nodes.TableAlias(this=name, columns=columns), at)
    changes: dict[str, Any] = {"alias": alias}
    return cursor.put(replace(found, **changes), begin)


# Queries

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
    return table(cursor, parts, begin)


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
        clauses["from_"] = from_clause(cursor)
        clauses["joins"] = joins(cursor)
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
