"""MATCH_RECOGNIZE as text."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.table.sql import nodes
from millrace.table.sql.writing.dispatch import after, listed, spaced, written


@written.register
def _match(node: nodes.MatchRecognize) -> str:
    pattern = spaced("^" * ("^" in node.anchors), written(node.pattern), "$" * ("$" in node.anchors))
    clauses = spaced(
        f"PARTITION BY {listed(node.partition_by)}" if node.partition_by else "",
        after("", node.order),
        f"MEASURES {listed(node.measures)}" if node.measures else "",
        node.rows,
        node.empty,
        after("", node.after),
        f"PATTERN ({pattern})",
        after("WITHIN ", node.within),
        _definitions("SUBSET", "=", node.subsets),
        _definitions("DEFINE", "AS", node.define),
    )
    return f"{written(node.this)} MATCH_RECOGNIZE ({clauses}){after(' AS ', node.alias)}"


def _definitions(word: str, between: str, items: Sequence[nodes.Alias]) -> str:
    texts = (f"{written(item.alias)} {between} {written(item.this)}" for item in items)
    return f"{word} {', '.join(texts)}" if items else ""


@written.register
def _after(node: nodes.AfterMatch) -> str:
    return f"AFTER MATCH SKIP {node.mode}{after(' ', node.target)}"


@written.register
def _variable(node: nodes.PatternVariable) -> str:
    return written(node.this)


@written.register
def _sequence(node: nodes.PatternSequence) -> str:
    parts = (_grouped(part, nodes.PatternSequence, nodes.PatternAlternation) for part in node.expressions)
    return " ".join(parts) or "()"


@written.register
def _alternation(node: nodes.PatternAlternation) -> str:
    return " | ".join(_grouped(part, nodes.PatternAlternation) for part in node.expressions)


@written.register
def _permutation(node: nodes.PatternPermutation) -> str:
    return f"PERMUTE({listed(node.expressions)})"


@written.register
def _exclusion(node: nodes.PatternExclusion) -> str:
    return f"{{- {written(node.this)} -}}"


@written.register
def _quantifier(node: nodes.PatternQuantifier) -> str:
    part = _grouped(node.this, nodes.PatternSequence, nodes.PatternAlternation, nodes.PatternQuantifier)
    high = "" if node.high is None else node.high
    low = "" if node.without_low else node.low
    return f"{part}{{{low},{high}}}{'?' * node.reluctant}"


def _grouped(part: nodes.Node, *kinds: type[nodes.Node]) -> str:
    """A part, in brackets if it is one of these."""
    text = written(part)
    return f"({text})" if isinstance(part, kinds) and text != "()" else text
