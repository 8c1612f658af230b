"""Runs SQL statements against a table environment: finds the function for each kind of statement, and has those of
the session: USE, SET, RESET, LOAD MODULE, UNLOAD MODULE, ADD JAR, CALL, and compiled plans."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.nodes import Field, Rel, Sink
from millrace.relational.rex import Literal
from millrace.relational.types import DataType, string
from millrace.table.catalogs.objects import ObjectPath, Procedure
from millrace.table.functions.function_catalog import CoreModule, Module
from millrace.table.not_yet import not_yet
from millrace.table.planner.compiled_plan import PlanReference, compiled, loaded, local_path
from millrace.table.sessions.session import explain
from millrace.table.sessions.table_result import TableResult, done, listing, plain
from millrace.table.sessions.table_settings import SqlDialect
from millrace.table.sql import nodes
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_insert, bind_query
from millrace.table.sql.binding.scope import Block, bind, fail, fold
from millrace.table.sql.grammar.parser import parse_statement
from millrace.table.statement_runners import alter, create, describe, row_changes, show
from millrace.table.statement_runners.create import create_table_as, plan_of_created
from millrace.table.values.elements import infer_type, merge_type
from millrace.table.values.program_errors import problem
from millrace.util.secrets import mask_options

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


# Settings and modules

ENTRY_POINTS = "millrace.modules"


def use_catalog(statement: s.UseCatalog, session: Session) -> TableResult:
    session.catalogs.use_catalog(str(statement.name))
    return done()


def use_database(statement: s.UseDatabase, session: Session) -> TableResult:
    *catalog, database = map(str, statement.path)
    session.catalogs.use_database(database, catalog[0] if catalog else None)
    return done()


def use_modules(statement: s.UseModules, session: Session) -> TableResult:
    session.functions.use_modules(list(map(str, statement.names)))
    return done()


def load_module(statement: s.LoadModule, session: Session) -> TableResult:
    session.functions.load_module(str(statement.name), _module(str(statement.name)))
    return done()


def _module(name: str) -> Module:
    from importlib.metadata import entry_points

    if name == "core":
        return CoreModule()
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            made = point.load()()
            assert isinstance(made, Module)
            return made
    raise problem(
        f"there is no module '{name}': a module made in Python is loaded with load_module(), one of a package has an "
        f"entry point in {ENTRY_POINTS}"
    )


def jar(statement: s.Jar, session: Session) -> TableResult:
    """A jar for Spark's session, as ``add_jars`` gives one.

    :raises NotImplementedError: it is to be removed, which Flink cannot do outside of its client either.
    :raises FileNotFoundError: it is not there.
    """
    if statement.action != "ADD":
        raise not_yet(f"{statement.action} JAR", "a program without the ADD JAR")
    session.streams.add_jars(statement.file)
    return done()


def unload_module(statement: s.UnloadModule, session: Session) -> TableResult:
    session.functions.unload_module(str(statement.name))
    return done()


def set_option(statement: s.Set, session: Session) -> TableResult:
    config = session.config
    if statement.key is None:
        columns = (Field("key", t.string()), Field("value", t.string()))
        return listing(columns, sorted(mask_options(config.get_configuration().to_dict()).items()))
    config.set(statement.key, statement.value or "")
    return done()


def reset_option(statement: s.Reset, session: Session) -> TableResult:
    configuration = session.config.get_configuration()
    for key in [statement.key] if statement.key is not None else sorted(configuration.key_set()):
        configuration.remove_config(key)
    return done()


# CALL


def call(statement: s.Call, session: Session) -> TableResult:
    """What a procedure gives for constants: nothing, a value, or a list of values or ``Row`` objects, a row each.

    :raises TableException: there is no such procedure, or it takes other arguments.
    """
    identifier = session.catalogs.qualify(statement.path)
    catalog = session.catalogs.catalog(identifier.get_catalog_name())
    procedure = catalog.get_procedure(ObjectPath(identifier.get_database_name(), identifier.get_object_name()))
    given, named = _arguments(statement, session)
    _check(procedure, identifier.as_summary_string(), given, named)
    return _result(procedure.call(*given, **named))


def _arguments(statement: s.Call, session: Session) -> tuple[list[Any], dict[str, Any]]:
    given: list[Any] = []
    named: dict[str, Any] = {}
    for tree in statement.arguments:
        if isinstance(tree, nodes.Kwarg):
            named[tree.this.name] = _constant(tree.expression, session)
        elif named:
            fail(tree, "arguments with names come last")
        else:
            given.append(_constant(tree, session))
    return given, named


def _constant(tree: nodes.Node, session: Session) -> Any:
    value = fold(bind(tree, Block.of((), session).named("CALL")), session.zone)
    if not isinstance(value, Literal):
        fail(tree, "an argument of a procedure is a constant")
    return value.value


def _check(procedure: Procedure, name: str, given: list[Any], named: dict[str, Any]) -> None:
    """:raises TableException: these are not its parameters."""
    signature = inspect.signature(procedure.call)
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        raise problem(f"procedure {name}{signature} does not take these arguments: {error}") from None


def _result(found: Any) -> TableResult:
    if found is None:
        return done()
    rows = list(found) if isinstance(found, (list, tuple)) and not isinstance(found, Row) else [found]
    if rows and all(isinstance(row, Row) for row in rows):
        names = rows[0]._fields or [f"f{at}" for at in range(len(rows[0]))]
        values = [tuple(row) for row in rows]
    else:
        names, values = ["result"], [(row,) for row in rows]
    columns = tuple(Field(name, _type([row[at] for row in values])) for at, name in enumerate(names))
    return listing(columns, values)


def _type(values: list[Any]) -> DataType:
    """The type that all values of a column have."""
    return reduce(merge_type, map(infer_type, values)) if values else string()


# Compiled plans


def compile_plan(statement: s.CompilePlan, session: Session) -> TableResult:
    """Write the plan of an INSERT into a file; with EXECUTE run what the file has then."""

    if not (statement.if_not_exists and local_path(statement.file).exists()):
        compiled(plans_of(statement.statement, session), session).write_to_file(statement.file)
    if not statement.execute:
        return done()
    return loaded(PlanReference.from_file(statement.file), session).execute()


def execute_plan(statement: s.ExecutePlan, session: Session) -> TableResult:
    return loaded(PlanReference.from_file(statement.file), session).execute()


# Statements

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
    from millrace.table.sessions.table_settings import ExplainDetail

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
    s.Update: row_changes.update,
    s.Delete: row_changes.delete,
    s.Truncate: row_changes.truncate,
    s.Call: call,
    s.Analyze: describe.analyze,
    s.Explain: _explain,
    s.CreateTable: _create_table,
    s.CreateView: create.view,
    s.CreateFunction: create.function,
    s.CreateDatabase: create.database,
    s.CreateCatalog: create.catalog,
    s.CreateModel: create.model,
    s.Drop: create.drop,
    s.Alter: alter.alter,
    s.Show: show.show,
    s.Describe: describe.describe,
    s.DescribeQuery: describe.describe_query,
    s.Summarize: describe.summarize,
    s.UseCatalog: use_catalog,
    s.UseDatabase: use_database,
    s.UseModules: use_modules,
    s.LoadModule: load_module,
    s.UnloadModule: unload_module,
    s.Jar: jar,
    s.Set: set_option,
    s.Reset: reset_option,
    s.CompilePlan: compile_plan,
    s.ExecutePlan: execute_plan,
}
_NEAREST: dict[type[s.Statement], tuple[str, str]] = {
    s.CreateMaterializedTable: ("CREATE MATERIALIZED TABLE", "CREATE TABLE and a job that INSERTs into it"),
    s.StopJob: ("STOP JOB", "millrace savepoint, or the job client's stop_with_savepoint()"),
    s.DescribeJob: ("DESCRIBE JOB", "millrace info"),
    s.ClientCommand: ("a command of the SQL client", "millrace sql"),
}
"""What is read and cannot be done: its words, and what comes nearest."""
