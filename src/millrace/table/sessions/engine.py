"""What runs plans: one engine for streaming and one for batch. The one seam between the Table API and what executes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from millrace.datastream import DataStream
    from millrace.relational.nodes import Rel
    from millrace.table.sessions.session import Session
    from millrace.table.sessions.table_result import TableResult
    from millrace.table.settings.explain_detail import ExplainDetail


class Engine(Protocol):
    """Runs, explains and converts the plans of a session."""

    def execute(self, plans: Sequence[Rel], session: Session, job_name: str | None = None) -> TableResult:
        """Submit one job for these plans: one query, whose rows are given as they come, or sinks.

        :raises NotImplementedError: a plan has no form in this mode.
        """

    def explain(self, plans: Sequence[Rel], session: Session, details: Sequence[ExplainDetail]) -> dict[str, str]:
        """How the plans would run: texts by their titles."""

    def to_data_stream(self, plan: Rel, session: Session, **how: Any) -> DataStream | None:
        """The rows of a plan as a DataStream of the session's program; a plan that ends in a sink gives none."""

    def from_spark(self, frame: Any) -> Rel:
        """The rows of a DataFrame of Spark as a plan.

        :raises TableException: this engine cannot read it.
        """

    def to_spark(self, plan: Rel, session: Session) -> Any:
        """The rows of a plan as a DataFrame of Spark.

        :raises TableException: this engine cannot make one.
        """
