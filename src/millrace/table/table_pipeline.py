"""``TablePipeline``: a query with the table that it is written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.relational.nodes import Sink
from millrace.table.catalogs.objects import ObjectIdentifier
from millrace.table.planner.compiled_plan import CompiledPlan, compiled
from millrace.table.sessions.session import ExplainDetail, explain
from millrace.table.sessions.table_result import settled

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session
    from millrace.table.sessions.table_result import TableResult

__all__ = ["TablePipeline"]


class TablePipeline:
    """A query into a table: execute it, or add it to a statement set.

    >>> _ = t_env.execute_sql("CREATE TABLE shown (name STRING) WITH ('connector' = 'print')")
    >>> orders.select(col("name")).insert_into("shown").execute().wait()
    +I[Ann]
    +I[Bob]
    +I[Ann]
    """

    def __init__(self, plan: Sink, session: Session) -> None:
        self._plan = plan
        self._session = session

    def __str__(self) -> str:
        return f"TablePipeline into {'.'.join(self._plan.path)}"

    def execute(self) -> TableResult:
        """Submit the job; ``wait`` on the result waits for its end."""
        self._session.runs([self._plan])
        return settled(self._session.engine.execute([self._plan], self._session), self._session)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan as text."""
        return explain([self._plan], self._session, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan as text."""
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The table; None if it has no name."""
        name = self._plan.path[2]
        return None if name.startswith("*anonymous") else ObjectIdentifier(*self._plan.path)

    def compile_plan(self) -> CompiledPlan:
        """The plan as it would run now."""
        return compiled([self._plan], self._session)
