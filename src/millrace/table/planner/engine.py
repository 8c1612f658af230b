"""The streaming engine: plans become operators of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.relational.nodes import Rel
from millrace.table.planner import run
from millrace.table.planner.advice import optimised_section
from millrace.table.planner.explain import StreamingPlans
from millrace.table.settings.explain_detail import ExplainDetail
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.datastream import DataStream
    from millrace.table.sessions.session import Session
    from millrace.table.sessions.table_result import TableResult

_BATCH = "needs batch mode, EnvironmentSettings.in_batch_mode()"
_NO_COST = "not known in streaming mode: there are no statistics of streams, and no rule needs a cost"


class StreamingEngine:
    """``Engine`` of streaming mode."""

    def execute(self, plans: Sequence[Rel], session: Session, job_name: str | None = None) -> TableResult:
        return run.submit(run.optimised(plans, session), session, job_name)

    def explain(self, plans: Sequence[Rel], session: Session, details: Sequence[ExplainDetail]) -> dict[str, str]:
        made = StreamingPlans(plans, session)
        advice = made.advice() if ExplainDetail.PLAN_ADVICE in details else None
        sections = {
            **optimised_section(made.optimised(ExplainDetail.CHANGELOG_MODE in details), advice),
            "Optimized Execution Plan": made.operators(),
            "Stages on Spark": made.stages(),
        }
        if ExplainDetail.ESTIMATED_COST in details:
            sections["Estimated Cost"] = _NO_COST
        if ExplainDetail.JSON_EXECUTION_PLAN in details:
            sections["Physical Execution Plan"] = made.json()
        return sections

    def to_data_stream(self, plan: Rel, session: Session, **how: Any) -> DataStream | None:
        return run.to_data_stream(plan, session, **how)

    def from_spark(self, frame: Any) -> Rel:
        raise problem(
            f"from_spark() {_BATCH}: in streaming mode read the data source itself, with connector 'spark' or "
            "'filesystem'"
        )

    def to_spark(self, plan: Rel, session: Session) -> Any:
        raise problem(
            f"to_spark() {_BATCH}: in streaming mode write into a table of connector 'filesystem', which Spark can read"
        )
