"""MATCH_RECOGNIZE and its patterns."""

from __future__ import annotations

from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.intervals import interval
from millrace.table.sql.grammar.over import order_by
from millrace.table.sql.nodes import (
    AfterMatch,
    MatchRecognize,
    PatternAlternation,
    PatternExclusion,
    PatternPermutation,
    PatternQuantifier,
    PatternSequence,
    PatternVariable,
)

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
    """The clauses from ONE ROW or ALL ROWS on to PATTERN; the others are left empty."""
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
