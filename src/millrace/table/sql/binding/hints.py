"""Hints: OPTIONS of a table, STATE_TTL and join hints of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from millrace.relational.nodes import Hinted, Rel
from millrace.table.sql import nodes
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.errors import did_you_mean

_KEYED = ("STATE_TTL", "LOOKUP")
_NAMED = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN")


def table_options(tree: exp.Table) -> dict[str, str]:
    """What ``t /*+ OPTIONS('key' = 'value') */`` overrides."""
    options: dict[str, str] = {}
    for hint in tree.args.get("hints") or []:
        for call in hint.expressions:
            if call.name != "OPTIONS":
                fail(call, f"a table takes the hint OPTIONS only; {call.name} belongs behind SELECT")
            options.update(nodes.hint_options(call))
    return options


QueryHints = tuple[tuple[str, tuple[Any, ...]], ...]
"""Names with their arguments: ``(key, value)`` pairs, or names of tables."""


def query_hints(tree: exp.Select) -> QueryHints:
    """The hints behind SELECT."""
    hint = tree.args.get("hint")
    return () if hint is None else tuple(_hint(call) for call in hint.expressions)


def _hint(call: nodes.HintCall) -> tuple[str, tuple[Any, ...]]:
    if call.name in _KEYED:
        return call.name, tuple(nodes.hint_options(call).items())
    if call.name in _NAMED:
        return call.name, nodes.hint_names(call)
    return fail(
        call, f"unknown hint {call.name}: there are {', '.join((*_KEYED, *_NAMED))}, and OPTIONS behind a table"
    )


def check_names(tree: exp.Select, names: Sequence[str]) -> None:
    """Refuse hints that name no table of the query."""
    for name, args in query_hints(tree):
        wanted = [] if name == "LOOKUP" else [arg[0] if isinstance(arg, tuple) else arg for arg in args]
        for each in wanted:
            if each not in names:
                fail(tree.args["hint"], f"hint {name}: there is no table '{each}' in FROM{did_you_mean(each, names)}")


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


def lookup_options(tree: exp.Expr, table: str) -> tuple[tuple[str, str], ...]:
    """The LOOKUP hint of the query around a join for this table, given by name or alias."""
    select = tree.find_ancestor(exp.Select)
    for name, pairs in () if select is None else query_hints(select):
        options = dict(pairs) if name == "LOOKUP" else {}
        if options.get("table") == table:
            return tuple((key, value) for key, value in options.items() if key != "table")
    return ()
