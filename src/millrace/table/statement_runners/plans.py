"""COMPILE PLAN, COMPILE AND EXECUTE PLAN, EXECUTE PLAN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.table.plans.compiled_plan import compiled, loaded, local_path
from millrace.table.plans.plan_reference import PlanReference
from millrace.table.sessions.table_result import TableResult, done
from millrace.table.sql import statements as s

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


def compile_plan(statement: s.CompilePlan, session: Session) -> TableResult:
    """Write the plan of an INSERT into a file; with EXECUTE run what the file has then."""
    from millrace.table.statement_runners.statements import plans_of

    if not (statement.if_not_exists and local_path(statement.file).exists()):
        compiled(plans_of(statement.statement, session), session).write_to_file(statement.file)
    if not statement.execute:
        return done()
    return loaded(PlanReference.from_file(statement.file), session).execute()


def execute_plan(statement: s.ExecutePlan, session: Session) -> TableResult:
    return loaded(PlanReference.from_file(statement.file), session).execute()
