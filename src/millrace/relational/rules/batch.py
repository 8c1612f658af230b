"""The rules that a plan goes through before Spark runs it."""

from __future__ import annotations

from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Rel
from millrace.relational.rules.column_pruning import prune_columns
from millrace.relational.rules.constant_folding import fold_constants
from millrace.relational.rules.filter_pushdown import push_filters
from millrace.relational.rules.merge_projections import merge_projections


def optimise(plan: Rel, surroundings: Surroundings) -> Rel:
    """The plan as it is run: the same rows, columns and names."""
    plan = fold_constants(plan, surroundings, dynamic=True)
    plan = merge_projections(plan)
    plan = push_filters(plan)
    plan = prune_columns(plan)
    return merge_projections(plan)
