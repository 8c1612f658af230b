"""PLAN_ADVICE of EXPLAIN: problems that a streaming plan will run into, and what to do about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from millrace.common.config_values import is_on
from millrace.relational import nodes as n
from millrace.relational.nodes.rel import expressions_of
from millrace.relational.rex_text import rex_text
from millrace.relational.rules.filters_and_projections import is_deterministic
from millrace.relational.rules.plan_text import node_text
from millrace.table.planner.plan import changes_of
from millrace.table.sessions.table_settings import STATE_TTL

NONE = "No available advice..."
"""The line that EXPLAIN prints if there is no advice, in Flink's words."""

Settings = Mapping[str, str]


def optimised_section(plan: str, advice: str | None) -> dict[str, str]:
    """The part of EXPLAIN with the optimised plan: title -> text; advice follows below if it was asked for."""
    if advice is None:
        return {"Optimized Physical Plan": plan}
    return {"Optimized Physical Plan With Advice": f"{plan}\n\n{advice}"}


def advice_on(plans: Sequence[n.Rel], settings: Settings) -> list[str]:
    """Return one line for each piece of advice, or the line ``NONE``.

    :param plans: optimised.
    """
    found: dict[str, None] = {}
    for plan in plans:
        for node in n.walk(plan):
            for rule in _RULES:
                found.update((f"{text}\n  at {node_text(node)}", None) for text in rule(node, settings))
    return [f"advice[{number}]: {text}" for number, text in enumerate(found, 1)] or [NONE]


def _two_phases(node: n.Rel, settings: Settings) -> Iterator[str]:
    key = "table.optimizer.agg-phase-strategy"
    if isinstance(node, n.Aggregate) and settings.get(key, "AUTO").upper() == "ONE_PHASE":
        yield f"[ADVICE] All rows are exchanged: with '{key}' = 'AUTO' each task aggregates its rows before."


def _distinct(node: n.Rel, settings: Settings) -> Iterator[str]:
    key = "table.optimizer.distinct-agg.split.enabled"
    split = is_on(settings, key)
    if isinstance(node, n.Aggregate) and not split and any(call.distinct for call in node.aggregates):
        yield (
            "[ADVICE] One task keeps all distinct values of a group. If some groups have very many, "
            f"'{key}' = 'true' spreads them."
        )


def _unbounded_state(node: n.Rel, settings: Settings) -> Iterator[str]:
    what = None if getattr(node, "window", None) is not None else _KEEPS.get(type(node))
    if what is None or STATE_TTL in settings or not _endless(node):
        return
    yield (
        f"[WARNING] State grows without end: {what}. Use a window or an interval of time, or say how long rows count "
        f"with '{STATE_TTL}' or the hint STATE_TTL."
    )


_KEEPS: dict[type[n.Rel], str] = {
    n.Join: "a regular join keeps all rows of both sides",
    n.Aggregate: "an aggregate keeps all groups",
    n.TableAggregate: "an aggregate keeps all groups",
    n.Rank: "a Top-N keeps the first rows of all partitions",
    n.Deduplicate: "a deduplication keeps all keys",
}


def _match_without_end(node: n.Rel, settings: Settings) -> Iterator[str]:
    if isinstance(node, n.Match) and node.within is None and _endless(node):
        yield (
            "[WARNING] State may grow without end: a match that has begun keeps its rows until it is decided. Say how "
            "long it may take: PATTERN (..) WITHIN INTERVAL '1' HOUR."
        )


def _endless(node: n.Rel) -> bool:
    """Whether some table below has no end."""
    leaves = [each for each in n.walk(node) if not each.inputs]
    return any(bounded(leaf) is False for leaf in leaves)


def bounded(leaf: Any) -> bool | None:
    """Whether a node that reads no other one has an end; None: it does not say."""
    if isinstance(leaf, n.Values):
        return True
    return getattr(getattr(leaf, "source", None), "bounded", None)


def _indeterminate(node: n.Rel, settings: Settings) -> Iterator[str]:
    """A row that is taken back must look as when it was given."""
    if not any(not changes_of(each).append_only for each in node.inputs) or len(node.inputs) != 1:
        return
    for expression in expressions_of(node):
        if not is_deterministic(expression):
            text = rex_text(expression, node.inputs[0].schema)
            yield (
                f"[WARNING] {text} may differ when a row is taken back that it was computed for; then the row is not "
                "found. Compute it before rows change, or in the query that reads the result."
            )


_RULES: Sequence[Callable[[n.Rel, Settings], Iterator[str]]] = (
    _two_phases,
    _distinct,
    _unbounded_state,
    _match_without_end,
    _indeterminate,
)
