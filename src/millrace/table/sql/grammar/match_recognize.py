"""MATCH_RECOGNIZE and its patterns."""

from __future__ import annotations

from sqlglot import exp

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


def match_recognize(cursor: Cursor, source: exp.Expression, begin: int) -> MatchRecognize:
    """The clause after a relation, which stands at token ``begin``."""
    cursor.expect("MATCH_RECOGNIZE", "(")
    found = MatchRecognize(this=source, rows="ONE ROW PER MATCH")
    if cursor.take("PARTITION", "BY"):
        found.set("partition_by", cursor.listed(lambda: expressions.expression(cursor)))
    if cursor.at("ORDER"):
        found.set("order", order_by(cursor))
    if cursor.take("MEASURES"):
        found.set("measures", cursor.listed(lambda: _measure(cursor)))
    rows = cursor.take_any("ONE", "ALL")
    if rows:
        cursor.expect(*(["ROW"] if rows == "ONE" else ["ROWS"]), "PER", "MATCH")
        found.set("rows", f"{rows} {'ROW' if rows == 'ONE' else 'ROWS'} PER MATCH")
    if cursor.at("AFTER"):
        found.set("after", _after(cursor))
    cursor.expect("PATTERN", "(")
    start = cursor.take("^")
    found.set("pattern", _alternation(cursor))
    end = cursor.take("$")
    found.set("anchors", "^" * start + "$" * end)
    cursor.expect(")")
    if cursor.take("WITHIN"):
        cursor.expect("INTERVAL")
        found.set("within", interval(cursor))
    if cursor.take("SUBSET"):
        found.set("subsets", cursor.listed(lambda: _subset(cursor)))
    cursor.expect("DEFINE")
    found.set("define", cursor.listed(lambda: _definition(cursor)))
    cursor.expect(")")
    return cursor.put(found, begin)


def _measure(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    value = expressions.expression(cursor)
    cursor.expect("AS")
    return cursor.put(exp.Alias(this=value, alias=cursor.identifier("a name")), begin)


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


def _alternation(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    branches = [_sequence(cursor)]
    while cursor.take("|"):
        branches.append(_sequence(cursor))
    return branches[0] if len(branches) == 1 else cursor.put(PatternAlternation(expressions=branches), begin)


def _sequence(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    parts = [_part(cursor)]
    while not cursor.at_any("|", ")", "-}", "$", ","):
        parts.append(_part(cursor))
    return parts[0] if len(parts) == 1 else cursor.put(PatternSequence(expressions=parts), begin)


def _part(cursor: Cursor) -> exp.Expression:
    """A variable or a group, with its quantifier."""
    begin = cursor.index
    found = _element(cursor, begin)
    bounds = _quantifier(cursor)
    if bounds is None:
        return found
    low, high = bounds
    reluctant = cursor.take("?")
    return cursor.put(PatternQuantifier(this=found, low=low, high=high, reluctant=reluctant), begin)


def _element(cursor: Cursor, begin: int) -> exp.Expression:
    if cursor.take("{-"):
        inner = _alternation(cursor)
        cursor.expect("-}")
        return cursor.put(PatternExclusion(this=inner), begin)
    if cursor.take("PERMUTE", "("):
        parts = cursor.listed(lambda: _alternation(cursor))
        cursor.expect(")")
        return cursor.put(PatternPermutation(expressions=parts), begin)
    if cursor.take("("):
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


def _subset(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    name = cursor.identifier("a name")
    cursor.expect("=")
    at = cursor.index
    members = cursor.in_brackets(lambda: cursor.identifier("a variable of the pattern"))
    return cursor.put(exp.Alias(this=cursor.put(exp.Tuple(expressions=members), at), alias=name), begin)


def _definition(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    name = cursor.identifier("a variable of the pattern")
    cursor.expect("AS")
    return cursor.put(exp.Alias(this=expressions.expression(cursor), alias=name), begin)
