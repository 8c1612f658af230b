"""EXPLAIN: plans as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Rel
from millrace.relational.rules.batch import optimise
from millrace.relational.text import plan_text
from millrace.table.explain_detail import ExplainDetail

if TYPE_CHECKING:
    from millrace.table.table_environment import TableEnvironment


def explain(plans: Sequence[Rel], environment: TableEnvironment, details: Sequence[ExplainDetail]) -> str:
    """The plans as they were written, as they are run and, in streaming mode, the operators that run them."""
    sections = {"Abstract Syntax Tree": "\n\n".join(map(plan_text, plans))}
    if environment._is_streaming:
        sections |= _streaming(plans, environment, ExplainDetail.CHANGELOG_MODE in details)
    else:
        sections["Optimized Physical Plan"] = "\n\n".join(_batch(plan, environment) for plan in plans)
    return "\n".join(f"== {title} ==\n{text}\n" for title, text in sections.items())


def _streaming(plans: Sequence[Rel], environment: TableEnvironment, with_changes: bool) -> dict[str, str]:
    from millrace.table.planner.explain import operators_text, optimised_text

    return {
        "Optimized Physical Plan": "\n\n".join(optimised_text(plan, environment, with_changes) for plan in plans),
        "Optimized Execution Plan": operators_text(plans, environment),
    }


def _batch(plan: Rel, environment: TableEnvironment) -> str:
    zone = environment.get_config().get_local_timezone()
    return plan_text(optimise(plan, Surroundings(0, zone, 0, environment.get_current_database())))
