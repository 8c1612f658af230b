"""``TablePipeline``: a query with the table that it is written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.relational.nodes import Sink
from millrace.table.catalogs.paths import ObjectIdentifier
from millrace.table.explain_detail import ExplainDetail
from millrace.table.plans.compiled_plan import CompiledPlan, compiled

if TYPE_CHECKING:
    from millrace.table.table_environment import TableEnvironment
    from millrace.table.table_result import TableResult

__all__ = ["TablePipeline"]


class TablePipeline:
    """A query into a table: execute it, or add it to a statement set."""

    def __init__(self, plan: Sink, t_env: TableEnvironment) -> None:
        self._plan = plan
        self._t_env = t_env

    def __str__(self) -> str:
        return f"TablePipeline into {'.'.join(self._plan.path)}"

    def execute(self) -> TableResult:
        """Submit the job; ``wait`` on the result waits for its end."""
        return self._t_env._settled(self._t_env._execute_sinks([self._plan]))

    def explain(self, *extra_details: ExplainDetail) -> str:
        return self._t_env._explain([self._plan], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The table; None if it has no name."""
        name = self._plan.path[2]
        return None if name.startswith("*anonymous") else ObjectIdentifier(*self._plan.path)

    def compile_plan(self) -> CompiledPlan:
        """The plan as it would run now."""
        return compiled([self._plan], self._t_env)
