"""Calls of functions, and what may follow one: IGNORE NULLS, WITHIN GROUP, FILTER, OVER."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions, queries
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.json_calls import JSON_CALLS
from millrace.table.sql.grammar.over import order_by, over
from millrace.table.sql.grammar.special_calls import SPECIAL_CALLS
from millrace.table.sql.nodes import Descriptor, Final, ModelArgument, Running, TableArgument
from millrace.table.sql.text.tokens import Kind

_BARE = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}
"""Functions that are called without brackets."""

_RESERVED_NAMES = {"LEFT", "RIGHT", "ROW", "GROUPING", "ARRAY"}
"""Keywords that are functions as well."""


def starts(cursor: Cursor) -> bool:
    """Whether a call comes next, of a function without a catalog and database."""
    token = cursor.token
    if token.kind is Kind.WORD and token.word in _BARE:
        return True
    if token.word in ("FINAL", "RUNNING") and cursor.peek(2).word == "(" and cursor.is_name(1):
        return True
    named = cursor.is_name() or token.word in _RESERVED_NAMES
    return named and cursor.peek().word == "("


def call(cursor: Cursor) -> nodes.Node:
    """A call, with all that follows it."""
    begin, token = cursor.index, cursor.token
    if token.word in ("FINAL", "RUNNING") and cursor.peek().word != "(":
        wrapper = Final if cursor.advance().word == "FINAL" else Running
        return cursor.put(wrapper(this=call(cursor)), begin)
    cursor.advance()
    if token.word in _BARE and not cursor.at("("):
        return cursor.put(nodes.Call(this=token.text, expressions=()), begin)
    special = SPECIAL_CALLS.get(token.word) or JSON_CALLS.get(token.word)
    if special is None:
        return _followed(cursor, _plain(cursor, begin), begin)
    cursor.expect("(")
    found = special(cursor, token.text)
    cursor.expect(")")
    return _followed(cursor, cursor.put(found, begin), begin)


def qualified(cursor: Cursor, parts: Sequence[nodes.Identifier], begin: int) -> nodes.Node:
    """A call of ``cat.db.f``, of which the names before the last have been read."""
    at = cursor.index
    cursor.advance()
    return _followed(cursor, cursor.put(nodes.Dot.between(*parts, _plain(cursor, at)), begin), begin)


def _plain(cursor: Cursor, begin: int) -> nodes.Node:
    """A call whose name, token ``begin``, has been read."""
    name = cursor.peek(begin - cursor.index).text
    arguments: tuple[nodes.Node, ...] = ()
    nulls = ""
    cursor.expect("(")
    if not cursor.at(")"):
        at = cursor.index
        distinct = cursor.take_any("DISTINCT", "ALL") == "DISTINCT"
        arguments = cursor.listed(lambda: argument(cursor))
        if distinct:
            arguments = (cursor.put(nodes.Distinct(expressions=arguments), at),)
        nulls = _nulls(cursor)
    cursor.expect(")")
    return _with_nulls(cursor, cursor.put(nodes.Call(this=name, expressions=arguments), begin), begin, nulls)


def argument(cursor: Cursor) -> nodes.Node:
    """One argument: an expression, or what only calls may have."""
    begin = cursor.index
    if cursor.take("*"):
        return cursor.put(nodes.Star(), begin)
    if cursor.token.kind in (Kind.WORD, Kind.QUOTED) and cursor.peek().word == "=>":
        quoted = cursor.token.kind is Kind.QUOTED
        name = cursor.put(nodes.Identifier(this=cursor.advance().text, quoted=quoted), begin)
        cursor.expect("=>")
        return cursor.put(nodes.Kwarg(this=name, expression=argument(cursor)), begin)
    if cursor.at("DEFAULT") and cursor.peek().word in (",", ")"):
        cursor.advance()
        return cursor.put(nodes.Var(this="DEFAULT"), begin)
    if cursor.take("TABLE"):
        return _table(cursor, begin)
    if cursor.at("DESCRIPTOR") and cursor.peek().word == "(":
        cursor.advance()
        names = cursor.in_brackets(lambda: cursor.identifier("a name of a column"))
        return cursor.put(Descriptor(expressions=names), begin)
    if cursor.at("MODEL") and cursor.is_name(1):
        cursor.advance()
        return cursor.put(ModelArgument(this=queries.table_name(cursor)), begin)
    if queries.starts(cursor, 0, nested=False):
        cursor.fail("a query as an argument stands in brackets of its own")
    return expressions.expression(cursor)


def _table(cursor: Cursor, begin: int) -> nodes.Node:
    table = queries.in_brackets(cursor) if cursor.at("(") else queries.table_name(cursor)
    partition_by: tuple[nodes.Node, ...] = ()
    if cursor.take("PARTITION", "BY"):
        partition_by = _one_or_more(cursor)
    order = order_by(cursor, one=True) if cursor.at("ORDER", "BY") else None
    return cursor.put(TableArgument(this=table, partition_by=partition_by, order=order), begin)


def _one_or_more(cursor: Cursor) -> tuple[nodes.Node, ...]:
    """A column, or several in brackets: a comma without them begins the next argument."""
    if cursor.at("("):
        return cursor.in_brackets(lambda: expressions.expression(cursor))
    return (expressions.operand(cursor),)


def _nulls(cursor: Cursor) -> str:
    if cursor.at_any("IGNORE", "RESPECT") and cursor.peek().word == "NULLS":
        word = cursor.advance().word
        cursor.advance()
        return word
    return ""


def _with_nulls(cursor: Cursor, found: nodes.Node, begin: int, nulls: str) -> nodes.Node:
    if not nulls:
        return found
    return cursor.put(nodes.IgnoreNulls(this=found) if nulls == "IGNORE" else nodes.RespectNulls(this=found), begin)


def _followed(cursor: Cursor, found: nodes.Node, begin: int) -> nodes.Node:
    found = _with_nulls(cursor, found, begin, _nulls(cursor))
    if cursor.take("WITHIN", "GROUP"):
        cursor.expect("(")
        order = order_by(cursor)
        cursor.expect(")")
        found = cursor.put(nodes.WithinGroup(this=found, expression=order), begin)
    if cursor.at("FILTER", "("):
        cursor.expect("FILTER", "(")
        at = cursor.index
        cursor.expect("WHERE")
        condition = cursor.put(nodes.Where(this=expressions.expression(cursor)), at)
        cursor.expect(")")
        found = cursor.put(nodes.Filter(this=found, expression=condition), begin)
    if cursor.at("OVER"):
        found = over(cursor, found, begin)
    return found
