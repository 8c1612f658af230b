"""Calls of functions, and what may follow one: IGNORE NULLS, WITHIN GROUP, FILTER, OVER. Functions whose arguments have
keywords between them become plain calls; JSON functions have nodes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.clauses import order_by, over
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.types import type_name
from millrace.table.sql.nodes import (
    Descriptor,
    Final,
    JsonArray,
    JsonArrayAgg,
    JsonEntry,
    JsonExists,
    JsonObject,
    JsonObjectAgg,
    JsonQuery,
    JsonValue,
    ModelArgument,
    Running,
    TableArgument,
    TypeName,
)
from millrace.table.sql.text import UNITS, Kind
from millrace.util.names import did_you_mean

# Arguments with keywords between them

Reader = Callable[[Cursor, str], nodes.Node]
"""Reads what is in the brackets of a call with this name."""


def _call(name: str, *arguments: nodes.Node | None) -> nodes.Node:
    return nodes.Call(this=name, expressions=tuple(argument for argument in arguments if argument is not None))


def _unit(cursor: Cursor) -> nodes.Node:
    """A unit of time, in the singular and without the prefix SQL_TSI_."""
    begin, token = cursor.index, cursor.token
    unit = token.word.removeprefix("SQL_TSI_")
    unit = unit if unit in UNITS else unit.removesuffix("S")
    if token.kind is not Kind.WORD:
        cursor.fail_expecting("a unit of time")
    if unit not in UNITS:
        cursor.fail(f"'{token.text}' is no unit of time{did_you_mean(token.text, UNITS)}")
    cursor.advance()
    return cursor.put(nodes.Var(this=unit), begin)


def _extract(cursor: Cursor, name: str) -> nodes.Node:
    unit = _unit(cursor)
    cursor.expect("FROM")
    return _call(name, unit, expressions.expression(cursor))


def _rounded(cursor: Cursor, name: str) -> nodes.Node:
    value = expressions.expression(cursor)
    return _call(name, value, _unit(cursor) if cursor.take("TO") else None)


def _with_unit(cursor: Cursor, name: str) -> nodes.Node:
    unit = _unit(cursor)
    cursor.expect(",")
    count = expressions.expression(cursor)
    cursor.expect(",")
    return _call(name, unit, count, expressions.expression(cursor))


def _trim(cursor: Cursor, name: str) -> nodes.Node:
    begin = cursor.index
    side = cursor.take_any("LEADING", "TRAILING", "BOTH")
    where = cursor.put(nodes.Var(this=side or "BOTH"), begin)
    blank = nodes.Literal.string(" ")
    if side and cursor.take("FROM"):
        return _call(name, where, blank, expressions.expression(cursor))
    first = expressions.expression(cursor)
    if cursor.take("FROM"):
        return _call(name, where, first, expressions.expression(cursor))
    return _call(name, where, blank, first) if side else _call(name, first)


def _position(cursor: Cursor, name: str) -> nodes.Node:
    needle = expressions.operand(cursor)
    cursor.expect("IN")
    return _call(name, needle, expressions.expression(cursor))


def _overlay(cursor: Cursor, name: str) -> nodes.Node:
    return _sections(cursor, name, ("PLACING", "FROM", "FOR"), at_least=2)


def _substring(cursor: Cursor, name: str) -> nodes.Node:
    return _sections(cursor, name, ("FROM", "FOR"), at_least=0)


def _sections(cursor: Cursor, name: str, words: tuple[str, ...], at_least: int) -> nodes.Node:
    """Arguments with these words, or commas, between them; so many words have to be there."""
    arguments = [expressions.expression(cursor)]
    if cursor.at(","):
        while cursor.take(","):
            arguments.append(expressions.expression(cursor))
        return _call(name, *arguments)
    for number, word in enumerate(words):
        if number < at_least:
            cursor.expect(word)
        elif not cursor.take(word):
            break
        arguments.append(expressions.expression(cursor))
    return _call(name, *arguments)


SPECIAL_CALLS: dict[str, Reader] = {
    "EXTRACT": _extract,
    "FLOOR": _rounded,
    "CEIL": _rounded,
    "CEILING": _rounded,
    "TIMESTAMPADD": _with_unit,
    "TIMESTAMPDIFF": _with_unit,
    "TRIM": _trim,
    "POSITION": _position,
    "OVERLAY": _overlay,
    "SUBSTRING": _substring,
}


# JSON functions


def _document(cursor: Cursor) -> tuple[nodes.Node, nodes.Literal]:
    """The first two arguments: a document and a path."""
    document = expressions.expression(cursor)
    cursor.expect(",")
    begin = cursor.index
    path = cursor.string("a path in single quotes, such as '$.name'")
    return document, cursor.put(nodes.Literal.string(path), begin)


def _returning(cursor: Cursor) -> TypeName | None:
    return type_name(cursor) if cursor.take("RETURNING") else None


def _value(cursor: Cursor, name: str) -> nodes.Node:
    arguments = (*_document(cursor), _returning(cursor))
    behaviour: dict[str, Any] = {}
    while not cursor.at(")"):
        action = cursor.expect_any("NULL", "ERROR", "DEFAULT")
        default = expressions.expression(cursor) if action == "DEFAULT" else None
        cursor.expect("ON")
        event = cursor.expect_any("EMPTY", "ERROR").lower()
        behaviour[f"on_{event}"] = action
        behaviour[f"{event}_default"] = default
    return JsonValue(*arguments, **behaviour)


def _query(cursor: Cursor, name: str) -> nodes.Node:
    arguments = (*_document(cursor), _returning(cursor), _wrapper(cursor))
    behaviour: dict[str, Any] = {}
    while not cursor.at(")"):
        action = cursor.expect_any("NULL", "ERROR", "EMPTY")
        if action == "EMPTY":
            action = f"EMPTY {cursor.expect_any('ARRAY', 'OBJECT')}"
        cursor.expect("ON")
        behaviour[f"on_{cursor.expect_any('EMPTY', 'ERROR').lower()}"] = action
    return JsonQuery(*arguments, **behaviour)


def _wrapper(cursor: Cursor) -> str:
    """WITHOUT [ARRAY] WRAPPER, WITH [CONDITIONAL | UNCONDITIONAL] [ARRAY] WRAPPER, or nothing."""
    word = cursor.take_any("WITHOUT", "WITH")
    if not word:
        return "WITHOUT"
    kind = "WITHOUT"
    if word == "WITH":
        kind = cursor.take_any("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
    cursor.take("ARRAY")
    cursor.expect("WRAPPER")
    return kind


def _exists(cursor: Cursor, name: str) -> nodes.Node:
    arguments = _document(cursor)
    action = cursor.take_any("TRUE", "FALSE", "UNKNOWN", "ERROR")
    if action:
        cursor.expect("ON", "ERROR")
    return JsonExists(*arguments, on_error=action or "FALSE")


def _on_null(cursor: Cursor, default: str) -> str:
    action = cursor.take_any("NULL", "ABSENT")
    if action:
        cursor.expect("ON", "NULL")
    return action or default


def _entry(cursor: Cursor) -> JsonEntry:
    """``[KEY] k VALUE v``, or ``k : v``."""
    begin = cursor.index
    if cursor.at("KEY") and cursor.peek().word not in (".", ",", ")", ":", "VALUE", "("):
        cursor.advance()
    key = expressions.expression(cursor)
    cursor.expect_any("VALUE", ":")
    return cursor.put(JsonEntry(this=key, expression=expressions.expression(cursor)), begin)


def _object(cursor: Cursor, name: str) -> nodes.Node:
    entries = () if cursor.at(")") or _at_on_null(cursor) else cursor.listed(lambda: _entry(cursor))
    return JsonObject(expressions=entries, on_null=_on_null(cursor, "NULL"))


def _object_agg(cursor: Cursor, name: str) -> nodes.Node:
    return JsonObjectAgg(this=_entry(cursor), on_null=_on_null(cursor, "NULL"))


def _array(cursor: Cursor, name: str) -> nodes.Node:
    empty = cursor.at(")") or _at_on_null(cursor)
    items = () if empty else cursor.listed(lambda: expressions.expression(cursor))
    return JsonArray(expressions=items, on_null=_on_null(cursor, "ABSENT"))


def _array_agg(cursor: Cursor, name: str) -> nodes.Node:
    begin = cursor.index
    item = expressions.expression(cursor)
    order = order_by(cursor) if cursor.at("ORDER", "BY") else None
    found = cursor.put(JsonArrayAgg(this=item, on_null=_on_null(cursor, "ABSENT")), begin)
    return found if order is None else nodes.WithinGroup(this=found, expression=order)


def _at_on_null(cursor: Cursor) -> bool:
    return cursor.token.kind is Kind.WORD and (cursor.at("NULL", "ON") or cursor.at("ABSENT", "ON"))


JSON_CALLS: dict[str, Reader] = {
    "JSON_VALUE": _value,
    "JSON_QUERY": _query,
    "JSON_EXISTS": _exists,
    "JSON_OBJECT": _object,
    "JSON_OBJECTAGG": _object_agg,
    "JSON_ARRAY": _array,
    "JSON_ARRAYAGG": _array_agg,
}


# Calls

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
        return cursor.put(ModelArgument(this=cursor.queries.table_name(cursor)), begin)
    if cursor.queries.starts(cursor, 0, nested=False):
        cursor.fail("a query as an argument stands in brackets of its own")
    return expressions.expression(cursor)


def _table(cursor: Cursor, begin: int) -> nodes.Node:
    table = cursor.queries.in_brackets(cursor) if cursor.at("(") else cursor.queries.table_name(cursor)
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
