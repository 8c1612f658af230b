"""The rules that a plan goes through before Spark runs it."""

from __future__ import annotations

from millrace.relational.deep_calls import deep_calls
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Filter, Project, Rel, Watermark
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import Call, Ref
from millrace.relational.rules.column_pruning import prune_columns
from millrace.relational.rules.constant_folding import fold_constants
from millrace.relational.rules.filter_pushdown import push_filters
from millrace.relational.rules.grouping_sets import numbered_sets
from millrace.relational.rules.join_order import join_order, wants_order
from millrace.relational.rules.merge_projections import merge_projections
from millrace.relational.rules.source_pushdown import push_into_sources
from millrace.relational.types import BooleanType


@deep_calls()
def optimise(plan: Rel, surroundings: Surroundings) -> Rel:
    """The plan as it is run: the same rows, columns and names."""
    plan = fold_constants(plan, surroundings, dynamic=True)
    plan = merge_projections(transform(plan, _without_watermark))
    plan = push_filters(plan)
    if wants_order(surroundings.configuration):
        plan = join_order(plan)
    plan = numbered_sets(prune_columns(plan))
    return push_into_sources(merge_projections(plan))


def _without_watermark(node: Rel) -> Rel:
    """All rows are there before anything is computed, so nothing waits for a watermark; only the type remains."""
    if not isinstance(node, Watermark):
        return node
    below = node.input
    if node.leaves_out:
        time = Ref(below.schema[node.column].type, node.column)
        below = Filter(below, Call(BooleanType(False), "IS NOT NULL", (time,)))
    return Project(below, tuple(Ref(each.type, index) for index, each in enumerate(node.schema)), node.schema)
