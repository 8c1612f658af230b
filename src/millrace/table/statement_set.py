"""``StatementSet``: several inserts that run as one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.relational.nodes import Sink
from millrace.table.catalogs.descriptors import TableDescriptor
from millrace.table.planner.compiled_plan import CompiledPlan, compiled
from millrace.table.sessions.session import ExplainDetail, explain
from millrace.table.sessions.table_result import settled
from millrace.table.statement_runners.statements import insert_plans
from millrace.table.table import Table
from millrace.table.table_pipeline import TablePipeline
from millrace.table.values.program_errors import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session
    from millrace.table.sessions.table_result import TableResult

__all__ = ["StatementSet"]


class StatementSet:
    """Collects inserts and runs them as one job: what they have in common is computed once.

    >>> _ = t_env.execute_sql("CREATE TABLE shown (name STRING) WITH ('connector' = 'print')")
    >>> statements = t_env.create_statement_set().add_insert("shown", orders.select(col("name")))
    >>> statements.add_insert_sql("INSERT INTO shown VALUES ('Eve')").execute().wait()
    +I[Ann]
    +I[Bob]
    +I[Ann]
    +I[Eve]
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._plans: list[Sink] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add what a pipeline writes."""
        self._session.runs([table_pipeline._plan])
        self._plans.append(table_pipeline._plan)
        return self

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """An INSERT statement.

        :raises TableException: another statement.
        """
        self._plans += insert_plans(stmt, self._session)
        return self

    def add_insert(
        self, target_path_or_descriptor: str | TableDescriptor, table: Table, overwrite: bool = False
    ) -> StatementSet:
        """Add an INSERT of a table's rows into a table."""
        return self.add(table.insert_into(target_path_or_descriptor, overwrite))

    def execute(self) -> TableResult:
        """Submit the job and begin again.

        :raises TableException: nothing was added.
        """
        if not self._plans:
            raise problem("the statement set is empty: add_insert, add_insert_sql or add come first")
        plans, self._plans = self._plans, []
        return settled(self._session.engine.execute(plans, self._session), self._session)

    def attach_as_datastream(self) -> None:
        """Add the inserts to the program of the StreamExecutionEnvironment, which runs them with its ``execute``."""
        for plan in self._plans:
            self._session.engine.to_data_stream(plan, self._session)
        self._plans = []

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan of all INSERTs as text."""
        return explain(self._plans, self._session, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan of all INSERTs as text."""
        print(self.explain(*extra_details))

    def compile_plan(self) -> CompiledPlan:
        """The inserts as they would run now; the set stays as it is."""
        return compiled(self._plans, self._session)
