"""The rules that a plan goes through before it becomes a streaming program."""

from __future__ import annotations

from millrace.relational.deep_calls import deep_calls
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Rel
from millrace.relational.nodes.traversal import transform
from millrace.relational.rules.attached_windows import attached_windows
from millrace.relational.rules.column_pruning import prune_columns
from millrace.relational.rules.constant_folding import fold_constants
from millrace.relational.rules.filter_pushdown import push_filters
from millrace.relational.rules.grouping_sets import grouping_sets
from millrace.relational.rules.join_keys import join_keys
from millrace.relational.rules.join_order import join_order, wants_order
from millrace.relational.rules.merge_projections import merge_projections
from millrace.relational.rules.top_n import top_n


@deep_calls()
def optimise(plan: Rel, surroundings: Surroundings) -> Rel:
    """The plan as it is run: the same changes of the same table."""
    # What depends on the clock is computed anew for each row.
    plan = fold_constants(plan, surroundings)
    plan = merge_projections(plan)
    plan = transform(plan, top_n)
    plan = push_filters(plan)
    if wants_order(surroundings.configuration):
        plan = join_order(plan)
    plan = prune_columns(plan)
    plan = merge_projections(plan)
    plan = attached_windows(plan)
    plan = grouping_sets(plan)
    return join_keys(plan)
