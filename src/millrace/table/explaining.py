"""EXPLAIN: plans as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Rel
from millrace.relational.rules import batch, streaming
from millrace.relational.text import plan_text
from millrace.table.explain_detail import ExplainDetail

if TYPE_CHECKING:
    from millrace.table.table_environment import TableEnvironment


def explain(plans: Sequence[Rel], environment: TableEnvironment, details: Sequence[ExplainDetail]) -> str:
    """The plans as they were written, and as they are run."""
    zone = environment.get_config().get_local_timezone()
    surroundings = Surroundings(0, zone, 0, environment.get_current_database())
    optimise = streaming.optimise if environment._is_streaming else batch.optimise
    written = "\n\n".join(plan_text(plan) for plan in plans)
    optimised = "\n\n".join(plan_text(optimise(plan, surroundings)) for plan in plans)
    return f"== Abstract Syntax Tree ==\n{written}\n\n== Optimized Physical Plan ==\n{optimised}\n"
