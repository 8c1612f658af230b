"""EXPLAIN: plans as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Rel
from millrace.relational.nodes.text import plan_text
from millrace.relational.rules.batch import optimise
from millrace.table.explain_detail import ExplainDetail
from millrace.table.sessions import execution

if TYPE_CHECKING:
    from millrace.table.table_environment import TableEnvironment

_NO_COST = "not known in streaming mode: there are no statistics of streams, and no rule needs a cost"
_NO_CHANGES = "in batch mode every operator gives insertions only"
_NO_JSON = "batch mode is no graph of operators: the plan that Spark runs is above"
_NO_ADVICE = "none in batch mode: there is no state that lasts"


def explain(plans: Sequence[Rel], environment: TableEnvironment, details: Sequence[ExplainDetail]) -> str:
    """The plans as they were written, as they are run, and how Spark runs them.

    Batch mode asks Spark for its plan, and starts it for that.
    """
    sections = {"Abstract Syntax Tree": "\n\n".join(map(plan_text, plans))}
    sections |= (_streaming if environment._is_streaming else _batch)(plans, environment, details)
    return "\n".join(f"== {title} ==\n{text}\n" for title, text in sections.items())


def _streaming(plans: Sequence[Rel], environment: TableEnvironment, details: Sequence[ExplainDetail]) -> dict[str, str]:
    from millrace.table.planner.explain import StreamingPlans

    made = StreamingPlans(plans, environment)
    sections = {
        "Optimized Physical Plan": made.optimised(ExplainDetail.CHANGELOG_MODE in details),
        "Optimized Execution Plan": made.operators(),
        "Stages on Spark": made.stages(),
    }
    if ExplainDetail.ESTIMATED_COST in details:
        sections["Estimated Cost"] = _NO_COST
    if ExplainDetail.PLAN_ADVICE in details:
        sections["Plan Advice"] = made.advice()
    if ExplainDetail.JSON_EXECUTION_PLAN in details:
        sections["Physical Execution Plan"] = made.json()
    return sections


def _batch(plans: Sequence[Rel], environment: TableEnvironment, details: Sequence[ExplainDetail]) -> dict[str, str]:
    zone = environment.get_config().get_local_timezone()
    surroundings = Surroundings(0, zone, 0, environment.get_current_database())
    cost = ExplainDetail.ESTIMATED_COST in details
    sections = {
        "Optimized Physical Plan": "\n\n".join(plan_text(optimise(plan, surroundings)) for plan in plans),
        "Plan of Spark": "\n\n".join(_of_spark(plan, environment, cost) for plan in plans),
    }
    if ExplainDetail.CHANGELOG_MODE in details:
        sections["Changelog Mode"] = _NO_CHANGES
    if ExplainDetail.PLAN_ADVICE in details:
        sections["Plan Advice"] = _NO_ADVICE
    if ExplainDetail.JSON_EXECUTION_PLAN in details:
        sections["Physical Execution Plan"] = _NO_JSON
    return sections


def _of_spark(plan: Rel, environment: TableEnvironment, cost: bool) -> str:
    """:param cost: with the sizes that Spark expects."""
    text = execution.spark_plan(plan, environment, "cost" if cost else "simple")
    # Its headings are not ours.
    return re.sub(r"^== (.*) ==$", r"-- \1 --", text, flags=re.MULTILINE).strip()
