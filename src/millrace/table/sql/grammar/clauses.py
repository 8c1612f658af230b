"""Clauses that stand in several kinds of query: ORDER BY, windows of OVER, GROUP BY, TABLESAMPLE, hints, and
MATCH_RECOGNIZE with its patterns.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.types import interval
from millrace.table.sql.nodes import (
    AfterMatch,
    HintCall,
    MatchRecognize,
    PatternAlternation,
    PatternExclusion,
    PatternPermutation,
    PatternQuantifier,
    PatternSequence,
    PatternVariable,
)
from millrace.table.sql.text import Kind

# ORDER BY and OVER


def order_by(cursor: Cursor, one: bool = False) -> nodes.Order:
    """ORDER BY and its items. ``one``: several only in brackets, since a comma ends the clause."""
    begin = cursor.index
    cursor.expect("ORDER", "BY")
    if one:
        items = cursor.in_brackets(lambda: _ordered(cursor)) if cursor.at("(") else (_ordered(cursor),)
    else:
        items = cursor.listed(lambda: _ordered(cursor))
    return cursor.put(nodes.Order(expressions=items), begin)


def _ordered(cursor: Cursor) -> nodes.Ordered:
    begin = cursor.index
    value = expressions.expression(cursor)
    descending = cursor.take_any("ASC", "DESC") == "DESC"
    nulls_first = cursor.expect_any("FIRST", "LAST") == "FIRST" if cursor.take("NULLS") else None
    return cursor.put(nodes.Ordered(this=value, desc=descending, nulls_first=nulls_first), begin)


def over(cursor: Cursor, found: nodes.Node, begin: int) -> nodes.Window:
    """OVER w, or OVER ( .. ), after a call."""
    cursor.expect("OVER")
    if cursor.is_name():
        return cursor.put(nodes.Window(this=found, alias=cursor.identifier()), begin)
    return cursor.put(nodes.Window(this=found, **window(cursor)), begin)


def named_window(cursor: Cursor) -> nodes.Window:
    """``w AS ( .. )``."""
    begin = cursor.index
    name = cursor.identifier("a name of a window")
    cursor.expect("AS")
    return cursor.put(nodes.Window(this=name, **window(cursor)), begin)


def window(cursor: Cursor) -> dict[str, Any]:
    """What is in brackets after OVER, as args of ``nodes.Window``."""
    cursor.expect("(")
    args: dict[str, Any] = {}
    if cursor.is_name() and not cursor.at_any("ROWS", "RANGE"):
        args["alias"] = cursor.identifier("a name of a window, PARTITION BY or ORDER BY")
    if cursor.take("PARTITION", "BY"):
        args["partition_by"] = cursor.listed(lambda: expressions.expression(cursor))
    if cursor.at("ORDER"):
        args["order"] = order_by(cursor)
    if cursor.at_any("ROWS", "RANGE"):
        args["spec"] = _frame(cursor)
    cursor.expect(")")
    return args


def _frame(cursor: Cursor) -> nodes.WindowSpec:
    begin = cursor.index
    kind = cursor.advance().word
    between = cursor.take("BETWEEN")
    start, start_side = _bound(cursor)
    end, end_side = "CURRENT ROW", None
    if between:
        cursor.expect("AND")
        end, end_side = _bound(cursor)
    if cursor.at("EXCLUDE"):
        cursor.fail("EXCLUDE is not supported in OVER: filter with CASE inside the aggregate")
    spec = nodes.WindowSpec(kind=kind, start=start, start_side=start_side, end=end, end_side=end_side)
    return cursor.put(spec, begin)


def _bound(cursor: Cursor) -> tuple[Any, str | None]:
    if cursor.take("CURRENT", "ROW"):
        return "CURRENT ROW", None
    start = "UNBOUNDED" if cursor.take("UNBOUNDED") else expressions.operand(cursor)
    return start, cursor.expect_any("PRECEDING", "FOLLOWING")


# GROUP BY


def group_by(cursor: Cursor) -> nodes.Group:
    begin = cursor.index
    cursor.expect("GROUP", "BY")
    distinct = cursor.take_any("ALL", "DISTINCT") == "DISTINCT"
    return cursor.put(nodes.Group(cursor.listed(lambda: _grouping_item(cursor)), distinct), begin)


def _grouping_item(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    if cursor.take("GROUPING", "SETS"):
        return cursor.put(nodes.GroupingSets(expressions=cursor.in_brackets(lambda: _grouping_item(cursor))), begin)
    kind = cursor.take_any("ROLLUP", "CUBE")
    if kind:
        node = nodes.Rollup if kind == "ROLLUP" else nodes.Cube
        return cursor.put(node(expressions=cursor.in_brackets(lambda: _grouping_item(cursor))), begin)
    if cursor.take("(", ")"):
        return cursor.put(nodes.Tuple(expressions=()), begin)
    return expressions.expression(cursor)


# TABLESAMPLE


def sampled(cursor: Cursor, relation: nodes.Node, begin: int) -> nodes.Node:
    """The relation, with the clause if it comes next."""
    if not cursor.take("TABLESAMPLE"):
        return relation
    method = cursor.take_any("BERNOULLI", "SYSTEM")
    if not method:
        cursor.fail_expecting("BERNOULLI or SYSTEM")
    cursor.expect("(")
    percent = cursor.token.text
    if cursor.token.kind is not Kind.NUMBER or Decimal(percent) > 100:
        cursor.fail("TABLESAMPLE takes a number of percent between 0 and 100")
    cursor.advance()
    cursor.expect(")")
    seed = None
    if cursor.take("REPEATABLE"):
        cursor.expect("(")
        seed = -cursor.integer("a seed") if cursor.take("-") else cursor.integer("a seed")
        cursor.expect(")")
    return cursor.put(nodes.Sampled(relation, method, percent, seed), begin)


# Hints


def hints(cursor: Cursor) -> nodes.Hint | None:
    """The hints that come next, if any."""
    begin = cursor.index
    if not cursor.take("/*+"):
        return None
    calls = []
    while not cursor.take("*/"):
        calls.append(_hint(cursor))
        cursor.take(",")
    return cursor.put(nodes.Hint(expressions=tuple(calls)), begin)


def _hint(cursor: Cursor) -> HintCall:
    begin = cursor.index
    name = cursor.name("a name of a hint").upper()
    items: tuple[nodes.Node, ...] = ()
    if cursor.take("(") and not cursor.take(")"):
        items = cursor.listed(lambda: _hint_item(cursor))
        cursor.expect(")")
    return cursor.put(HintCall(this=name, expressions=items), begin)


def _hint_item(cursor: Cursor) -> nodes.Node:
    """``'key' = 'value'``, or a name."""
    begin = cursor.index
    key = cursor.put(nodes.Literal.string(_text(cursor)), begin)
    if not cursor.take("="):
        return key
    at = cursor.index
    value = cursor.put(nodes.Literal.string(_text(cursor)), at)
    return cursor.put(nodes.PropertyEQ(this=key, expression=value), begin)


def _text(cursor: Cursor) -> str:
    if cursor.token.kind in (Kind.STRING, Kind.NUMBER):
        return cursor.advance().text
    return ".".join(cursor.path("a name, or a key in single quotes"))


# MATCH_RECOGNIZE

_EMPTY = {
    "SHOW": ("SHOW", "EMPTY", "MATCHES"),
    "OMIT": ("OMIT", "EMPTY", "MATCHES"),
    "WITH": ("WITH", "UNMATCHED", "ROWS"),
}


def match_recognize(cursor: Cursor, source: nodes.Node, begin: int) -> MatchRecognize:
    """The clause after a relation, which stands at token ``begin``."""
    cursor.expect("MATCH_RECOGNIZE", "(")
    clauses: dict[str, Any] = {"this": source}
    if cursor.take("PARTITION", "BY"):
        clauses["partition_by"] = cursor.listed(lambda: expressions.expression(cursor))
    if cursor.at("ORDER"):
        clauses["order"] = order_by(cursor)
    if cursor.take("MEASURES"):
        clauses["measures"] = cursor.listed(lambda: _measure(cursor))
    clauses |= _ways(cursor)
    if cursor.take("WITHIN"):
        cursor.expect("INTERVAL")
        clauses["within"] = interval(cursor)
    if cursor.take("SUBSET"):
        clauses["subsets"] = cursor.listed(lambda: _subset(cursor))
    cursor.expect("DEFINE")
    clauses["define"] = cursor.listed(lambda: _definition(cursor))
    cursor.expect(")")
    return cursor.put(MatchRecognize(**clauses), begin)


def match_clauses(cursor: Cursor) -> MatchRecognize:
    """The clauses from ONE ROW or ALL ROWS to PATTERN; clauses that are missing stay empty."""
    begin = cursor.index
    clauses = _ways(cursor)
    return cursor.put(MatchRecognize(this=nodes.Var(this="table"), define=(), **clauses), begin)


def _ways(cursor: Cursor) -> dict[str, Any]:
    """Which rows come out, where the search goes on, and the pattern."""
    clauses: dict[str, Any] = {}
    rows = cursor.take_any("ONE", "ALL")
    if rows:
        cursor.expect(*(["ROW"] if rows == "ONE" else ["ROWS"]), "PER", "MATCH")
        clauses["rows"] = f"{rows} {'ROW' if rows == 'ONE' else 'ROWS'} PER MATCH"
    if rows == "ALL" and cursor.at_any("SHOW", "OMIT", "WITH"):
        words = _EMPTY[cursor.token.word]
        cursor.expect(*words)
        clauses["empty"] = " ".join(words)
    if cursor.at("AFTER"):
        clauses["after"] = _after(cursor)
    cursor.expect("PATTERN", "(")
    start = cursor.take("^")
    clauses["pattern"] = _alternation(cursor)
    end = cursor.take("$")
    clauses["anchors"] = "^" * start + "$" * end
    cursor.expect(")")
    return clauses


def _measure(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    value = expressions.expression(cursor)
    cursor.expect("AS")
    return cursor.put(nodes.Alias(this=value, alias=cursor.identifier("a name")), begin)


def _after(cursor: Cursor) -> AfterMatch:
    begin = cursor.index
    cursor.expect("AFTER", "MATCH", "SKIP")
    target = None
    if cursor.take("PAST"):
        cursor.expect("LAST", "ROW")
        mode = "PAST LAST ROW"
    else:
        cursor.expect("TO")
        mode = f"TO {cursor.take_any('NEXT', 'FIRST', 'LAST') or 'LAST'}"
        if mode == "TO NEXT":
            cursor.expect("ROW")
            mode = "TO NEXT ROW"
        else:
            target = cursor.identifier("a variable of the pattern")
    return cursor.put(AfterMatch(mode=mode, target=target), begin)


def _alternation(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    branches = [_sequence(cursor)]
    while cursor.take("|"):
        branches.append(_sequence(cursor))
    return branches[0] if len(branches) == 1 else cursor.put(PatternAlternation(expressions=tuple(branches)), begin)


def _sequence(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    parts = [_part(cursor)]
    while not cursor.at_any("|", ")", "-}", "$", ","):
        parts.append(_part(cursor))
    return parts[0] if len(parts) == 1 else cursor.put(PatternSequence(expressions=tuple(parts)), begin)


def _part(cursor: Cursor) -> nodes.Node:
    """A variable or a group, with its quantifier."""
    begin = cursor.index
    found = _element(cursor, begin)
    without_low = cursor.at("{") and cursor.peek().word == ","
    bounds = _quantifier(cursor)
    if bounds is None:
        return found
    low, high = bounds
    reluctant = cursor.take("?")
    return cursor.put(PatternQuantifier(found, low, high, reluctant, without_low), begin)


def _element(cursor: Cursor, begin: int) -> nodes.Node:
    if cursor.take("{-"):
        inner = _alternation(cursor)
        cursor.expect("-}")
        return cursor.put(PatternExclusion(this=inner), begin)
    if cursor.take("PERMUTE", "("):
        parts = cursor.listed(lambda: _alternation(cursor))
        cursor.expect(")")
        return cursor.put(PatternPermutation(expressions=parts), begin)
    if cursor.take("("):
        if cursor.take(")"):
            return cursor.put(PatternSequence(expressions=()), begin)
        inner = _alternation(cursor)
        cursor.expect(")")
        return inner
    return cursor.put(PatternVariable(this=cursor.identifier("a variable of the pattern")), begin)


def _quantifier(cursor: Cursor) -> tuple[int, int | None] | None:
    """How often at least and at most; None if it is not said."""
    begin = cursor.index
    word = cursor.take_any("*", "+", "?")
    if word:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[word]
    if not cursor.take("{"):
        return None
    low = 0 if cursor.at(",") else cursor.integer()
    high: int | None = low
    if cursor.take(","):
        high = None if cursor.at("}") else cursor.integer()
    cursor.expect("}")
    if high is not None and high < low:
        cursor.fail(f"at least {low} and at most {high} times is never", begin)
    return low, high


def _subset(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    name = cursor.identifier("a name")
    cursor.expect("=")
    at = cursor.index
    members = cursor.in_brackets(lambda: cursor.identifier("a variable of the pattern"))
    return cursor.put(nodes.Alias(this=cursor.put(nodes.Tuple(expressions=members), at), alias=name), begin)


def _definition(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    name = cursor.identifier("a variable of the pattern")
    cursor.expect("AS")
    return cursor.put(nodes.Alias(this=expressions.expression(cursor), alias=name), begin)
