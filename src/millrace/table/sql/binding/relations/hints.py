"""Hints: OPTIONS of a table, STATE_TTL and join hints of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.config_values import to_duration
from millrace.relational.nodes import Hinted, Rel
from millrace.table.sql import nodes
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.text.errors import did_you_mean

_KEYED = ("STATE_TTL", "LOOKUP")
_USAGE = {
    "OPTIONS": "'option' = 'value'",
    "STATE_TTL": "'table' = '1 d'",
    "LOOKUP": "'table' = 'name', 'retry-predicate' = 'lookup_miss', ...",
}
_LOOKUP = ("table", "async", "output-mode", "capacity", "timeout", "retry-predicate", "retry-strategy", "fixed-delay",
           "max-attempts", "shuffle")  # fmt: skip
"""the options of LOOKUP"""
_NAMED = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN")


def table_options(tree: nodes.Table) -> dict[str, str]:
    """What ``t /*+ OPTIONS('key' = 'value') */`` overrides."""
    options: dict[str, str] = {}
    for hint in tree.hints or []:
        for call in hint.expressions:
            if call.name != "OPTIONS":
                fail(call, f"a table takes the hint OPTIONS only; {call.name} belongs behind SELECT")
            options.update(_pairs(call))
    return options


def _pairs(call: nodes.HintCall) -> dict[str, str]:
    """The arguments of a hint that takes keys with values."""
    pairs = nodes.hint_options(call)
    if nodes.hint_names(call) or not pairs:
        fail(call, f"the hint {call.name} takes keys with values: {call.name}({_USAGE[call.name]})")
    return pairs


QueryHints = tuple[tuple[str, tuple[Any, ...]], ...]
"""Names with their arguments: ``(key, value)`` pairs, or names of tables."""


def query_hints(tree: nodes.Select) -> QueryHints:
    """The hints behind SELECT."""
    hint = tree.hint
    return () if hint is None else tuple(_hint(call) for call in hint.expressions)


def _hint(call: nodes.HintCall) -> tuple[str, tuple[Any, ...]]:
    if call.name in _KEYED:
        pairs = _pairs(call)
        if call.name == "STATE_TTL":
            _check_spans(call, pairs)
        else:
            _check_lookup(call, pairs)
        return call.name, tuple(pairs.items())
    if call.name in _NAMED:
        if nodes.hint_options(call) or not nodes.hint_names(call):
            fail(call, f"the hint {call.name} takes names of tables: {call.name}(a, b)")
        return call.name, nodes.hint_names(call)
    known = (*_KEYED, *_NAMED)
    meant = did_you_mean(call.name, known)
    return fail(
        call, f"unknown hint {call.name}{meant or ':'} there are {', '.join(known)}, and OPTIONS behind a table"
    )


def _check_spans(call: nodes.HintCall, pairs: dict[str, str]) -> None:
    for table, span in pairs.items():
        try:
            to_duration(span)
        except ValueError as error:
            fail(call, f"hint STATE_TTL of '{table}': {error}")


def _check_lookup(call: nodes.HintCall, pairs: dict[str, str]) -> None:
    for key in pairs:
        if key not in _LOOKUP:
            fail(call, f"the hint LOOKUP has no option '{key}'{did_you_mean(key, _LOOKUP)}")
    if "table" not in pairs:
        fail(call, f"the hint LOOKUP names its table: LOOKUP({_USAGE['LOOKUP']})")


def check_names(tree: nodes.Select, names: Sequence[str]) -> None:
    """Refuse hints that name no table of the query."""
    for name, args in query_hints(tree):
        if name == "LOOKUP":
            wanted = [value for key, value in args if key == "table"]
        else:
            wanted = [arg[0] if isinstance(arg, tuple) else arg for arg in args]
        for each in wanted:
            if each not in names:
                fail(tree.hint, f"hint {name}: there is no table '{each}' in FROM{did_you_mean(each, names)}")


def input_hinted(plan: Rel, hints: QueryHints, name: str | None) -> Rel:
    """The input of a join or an aggregation with the hints that are about it: ``("STATE_TTL", (duration,))``,
    ``("BROADCAST", ())``, ..."""
    about: list[tuple[str, tuple[Any, ...]]] = []
    for hint, args in hints:
        if hint == "STATE_TTL" and name in dict(args):
            about.append((hint, (dict(args)[name],)))
        elif hint in _NAMED and name in args:
            about.append((hint, ()))
    return Hinted(plan, tuple(about)) if about else plan


def lookup_options(hints: QueryHints, table: str) -> tuple[tuple[str, str], ...]:
    """The LOOKUP hint of the query around a join for this table, given by name or alias."""
    for name, pairs in hints:
        options = dict(pairs) if name == "LOOKUP" else {}
        if options.get("table") == table:
            return tuple((key, value) for key, value in options.items() if key != "table")
    return ()
