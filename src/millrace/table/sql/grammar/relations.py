"""What stands in FROM: tables, queries, calls, joins of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar import calls, expressions, queries
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.hints import hints
from millrace.table.sql.grammar.match_recognize import match_recognize
from millrace.table.sql.grammar.samples import sampled
from millrace.table.sql.nodes import Joined, TableFunction
from millrace.table.sql.text.errors import SqlParseError
from millrace.table.sql.text.tokens import Kind

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
        return cursor.put(nodes.Lateral(this=queries.in_brackets(cursor)), begin)
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
    if queries.starts(cursor):
        try:
            return queries.in_brackets(cursor)
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
