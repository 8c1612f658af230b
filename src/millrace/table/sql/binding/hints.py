"""Hints: OPTIONS of a table, STATE_TTL and join hints of a query."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millrace.relational.nodes import Hinted, Rel
from millrace.table.sql import nodes
from millrace.table.sql.binding.problems import fail

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


def query_hints(tree: exp.Select) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """The hints behind SELECT: names with their arguments, ``(key, value)`` pairs or names of tables."""
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


def lookup_options(tree: exp.Expr, table: str) -> tuple[tuple[str, str], ...]:
    """The LOOKUP hint of the query around a join for this table, given by name or alias."""
    select = tree.find_ancestor(exp.Select)
    for name, pairs in () if select is None else query_hints(select):
        options = dict(pairs) if name == "LOOKUP" else {}
        if options.get("table") == table:
            return tuple((key, value) for key, value in options.items() if key != "table")
    return ()


def hinted(plan: Rel, tree: exp.Select) -> Rel:
    """The query block with its hints."""
    hints = query_hints(tree)
    return Hinted(plan, hints) if hints else plan
