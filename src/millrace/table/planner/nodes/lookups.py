"""Joins with an external table that is asked for keys."""

from __future__ import annotations

from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.tables.joins.lookup_join import LookupJoin
from millrace.runtime.tables.joins.lookups import LookupConfig, hint_of
from millrace.runtime.tables.joins.remembering_lookup_join import RememberingLookupJoin
from millrace.table.planner.changes import without_keys
from millrace.table.planner.changing_values import RESOLVE, STRATEGY
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by


@streaming_form(n.LookupJoin, changes=without_keys)
def lookup_join(plan: Plan, node: n.LookupJoin, before: bool) -> Planned:
    hint = dict(node.options)
    what: dict[str, Any] = {
        "input": node.input.schema,
        "external": LookupConfig.of(node.source, hint, len(node.table)),
        "table": node.table,
        "kind": node.kind,
        "lookup": node.lookup,
        "condition": node.condition,
        **plan.options.common,
    }
    name, below = ".".join(node.path), plan.add(node.input)
    if below.retracts and _resolves(plan):
        keys = min(plan.changes(node.input).keys, key=lambda key: (len(key), key), default=_all(node.input))
        config: LookupJoin = RememberingLookupJoin(keys=keys, **what)
        return plan.step(f"RememberingLookupJoin({name})", config, [(below, by(keys))], node.schema, plan.changes(node))
    exchange = _shuffle(node) if hint_of(node.source, hint).shuffle and not below.retracts else None
    return plan.step(f"LookupJoin({name})", LookupJoin(**what), [(below, exchange)], node.schema, plan.changes(node))


def _all(node: n.Rel) -> tuple[int, ...]:
    return tuple(range(len(node.schema)))


def _shuffle(node: n.LookupJoin) -> Partitioner | None:
    """Rows with equal keys in one subtask. Changes of a row might overtake each other that way: only insertions."""
    columns = [key.index for _, key in node.lookup if isinstance(key, Ref)]
    return by(columns) if columns else None


def _resolves(plan: Plan) -> bool:
    return plan.options.environment.configuration.get(STRATEGY, "").upper() == RESOLVE
