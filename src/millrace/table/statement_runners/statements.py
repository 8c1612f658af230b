"""SQL statements, run against a table environment: each kind has its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millrace.relational.nodes import Rel, Sink
from millrace.table.not_yet import not_yet
from millrace.table.plans.explaining import explain
from millrace.table.sessions.table_result import TableResult, done, plain
from millrace.table.settings.sql_dialect import SqlDialect
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_insert, bind_query
from millrace.table.sql.parser import parse_statement
from millrace.table.statement_runners import (
    alter_objects,
    analyze,
    changes,
    create,
    describe,
    drop,
    plans,
    procedures,
    settings,
    show,
    summarize,
)
from millrace.table.statement_runners.queries import create_table_as, plan_of_created
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

Runner = Callable[[Any, "Session"], TableResult]


def execute_statement(text: str, session: Session) -> TableResult:
    """Run one statement.

    :raises SqlError: it cannot be read, or means nothing.
    :raises NotImplementedError: it is understood, and cannot be done.
    """
    return run(_statement(text, session), session)


def _statement(text: str, session: Session) -> s.Statement:
    statement = parse_statement(text)
    dialect = session.config.get_sql_dialect()
    if dialect is not SqlDialect.DEFAULT and not isinstance(statement, (s.Set, s.Reset)):
        raise not_yet(f"SQL dialect {dialect.name}", "the default dialect, Flink SQL")
    return statement


def run(statement: s.Statement, session: Session) -> TableResult:
    runner = _RUNNERS.get(type(statement))
    if runner is None:
        raise not_yet(*_NEAREST.get(type(statement), (_kind(statement), "another statement")))
    return runner(statement, session)


def query_plan(text: str, session: Session) -> Rel:
    """The plan of a query.

    :raises TableException: another statement.
    """
    statement = _statement(text, session)
    if not isinstance(statement, s.Query):
        raise problem(f"sql_query takes a query, SELECT or VALUES; run {_kind(statement)} with execute_sql")
    return bind_query(statement.tree, session)


def insert_plans(text: str, session: Session) -> list[Sink]:
    """The plans of an INSERT, or of a statement set.

    :raises TableException: another statement.
    """
    statement = _statement(text, session)
    if not isinstance(statement, (s.Insert, s.StatementSet)):
        raise problem(f"only INSERT can be added to a statement set, not {_kind(statement)}")
    return plans_of(statement, session)


def plans_of(statement: s.Insert | s.StatementSet, session: Session) -> list[Sink]:
    inserts = statement.inserts if isinstance(statement, s.StatementSet) else (statement,)
    return [bind_insert(each, session) for each in inserts]


def _kind(statement: s.Statement) -> str:
    return " ".join(statement.text.split()[:2]).upper() or type(statement).__name__


def _query(statement: s.Query, session: Session) -> TableResult:
    return session.engine.execute([bind_query(statement.tree, session)], session)


def _insert(statement: s.Insert | s.StatementSet, session: Session) -> TableResult:
    plans = plans_of(statement, session)
    return session.engine.execute(plans, session) if plans else done()


def _explain(statement: s.Explain, session: Session) -> TableResult:
    from millrace.table.settings.explain_detail import ExplainDetail

    inner = statement.statement
    plans: list[Rel] = []
    if isinstance(inner, s.Query):
        plans.append(bind_query(inner.tree, session))
    elif isinstance(inner, s.CreateTable):
        plans.append(plan_of_created(inner, session))
    else:
        plans += plans_of(inner, session)
    return plain(explain(plans, session, [ExplainDetail[detail] for detail in statement.details]))


def _create_table(statement: s.CreateTable, session: Session) -> TableResult:
    if statement.query is None:
        return create.table(statement, session)
    return create_table_as(statement, session)


_RUNNERS: dict[type[s.Statement], Runner] = {
    s.Query: _query,
    s.Insert: _insert,
    s.StatementSet: _insert,
    s.Update: changes.update,
    s.Delete: changes.delete,
    s.Truncate: changes.truncate,
    s.Call: procedures.call,
    s.Analyze: analyze.analyze,
    s.Explain: _explain,
    s.CreateTable: _create_table,
    s.CreateView: create.view,
    s.CreateFunction: create.function,
    s.CreateDatabase: create.database,
    s.CreateCatalog: create.catalog,
    s.CreateModel: create.model,
    s.Drop: drop.drop,
    s.Alter: alter_objects.alter,
    s.Show: show.show,
    s.Describe: describe.describe,
    s.DescribeQuery: describe.describe_query,
    s.Summarize: summarize.summarize,
    s.UseCatalog: settings.use_catalog,
    s.UseDatabase: settings.use_database,
    s.UseModules: settings.use_modules,
    s.LoadModule: settings.load_module,
    s.UnloadModule: settings.unload_module,
    s.Jar: settings.jar,
    s.Set: settings.set_option,
    s.Reset: settings.reset_option,
    s.CompilePlan: plans.compile_plan,
    s.ExecutePlan: plans.execute_plan,
}
_NEAREST: dict[type[s.Statement], tuple[str, str]] = {
    s.CreateMaterializedTable: ("CREATE MATERIALIZED TABLE", "CREATE TABLE and a job that INSERTs into it"),
    s.StopJob: ("STOP JOB", "millrace savepoint, or the job client's stop_with_savepoint()"),
    s.DescribeJob: ("DESCRIBE JOB", "millrace info"),
    s.ClientCommand: ("a command of the SQL client", "millrace sql"),
}
"""What is read and cannot be done: its words, and what comes nearest."""
