"""Runs SQL statements against a table environment: finds the function for each kind of statement, and has those that
change rows (UPDATE, DELETE and TRUNCATE TABLE) and those of the session: USE, SET, RESET, LOAD MODULE, UNLOAD
MODULE, ADD JAR, CALL, and compiled plans.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.registry import call, cast_to
from millrace.relational.nodes import Field, Filter, Project, Rel, Sink
from millrace.relational.rex import TRUE, Literal, Ref, Rex, refs, remap, rewrite
from millrace.relational.rows import DELETE, UPDATE_AFTER, Rows, concat
from millrace.relational.rules.subqueries import unnest
from millrace.relational.sources import Changed, TableChanger
from millrace.relational.types import DataType, string
from millrace.table.catalogs.objects import ObjectPath, Procedure
from millrace.table.functions.function_catalog import FoundTable, Module
from millrace.table.planner.compiled_plan import PlanReference, compiled, loaded, local_path
from millrace.table.sessions.session import explain
from millrace.table.sessions.table_info import forget, source_info, table_context
from millrace.table.sessions.table_result import TableResult, done, listing, plain
from millrace.table.sql import nodes
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_insert, bind_query
from millrace.table.sql.binding.insert import fits
from millrace.table.sql.binding.scope import Block, Environment, bind, bind_condition, fail, fold, scope_of
from millrace.table.statement_runners import alter, create, describe, show
from millrace.table.statement_runners.create import create_table_as, plan_of_created
from millrace.table.values.elements import infer_type, merge_type
from millrace.table.values.program_errors import problem
from millrace.util import plugins
from millrace.util.names import did_you_mean
from millrace.util.not_yet import not_yet
from millrace.util.secrets import mask_options

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


# UPDATE, DELETE and TRUNCATE TABLE


class _Changing:
    """A table whose rows a statement changes: its columns as the statement sees them, and what changes them."""

    def __init__(self, statement: s.Update | s.Delete, kind: str, session: Session) -> None:
        found = _table(statement, kind, session)
        self.session = session
        self.path = found.identifier.as_summary_string()
        self.changer = _changer(found, kind, session)
        self.read = source_info(found.identifier, found.table, {}, session).plan
        context = table_context(found.identifier, found.table, {}, session)
        self.target, self.columns = context.path, context.columns
        names = [column.name for column in self.read.schema]
        self.places = [names.index(column.name) for column in context.columns]
        """where the columns that are stored are among all columns"""
        if context.metadata:
            raise problem(f"{self.path} has metadata columns, which are lost when rows are written: {kind} is refused")
        self.block = Block(Environment(session), scope_of(statement.path[-1], self.read.schema))
        tree = statement.condition
        self.condition = None if tree is None else self.folded(bind_condition(tree.tree, self.block.named("WHERE")))

    def folded(self, expression: Rex) -> Rex:
        """Compute the constant parts of an expression, so that a database can be given the expression."""

        def part(each: Rex) -> Rex | None:
            found = fold(each, self.block.zone)
            return None if found is each else found

        return rewrite(expression, part)

    def stored(self, rex: Rex | None) -> Rex | None:
        """Rewrite an expression over the stored columns alone; None if it reads other columns."""
        if rex is None or not refs(rex) <= set(self.places):
            return None
        return remap(rex, {place: at for at, place in enumerate(self.places)})

    def of_stored(self, plan: Rel, values: Mapping[int, Rex], condition: Rex | None) -> Rel:
        """The stored columns of a plan over all columns, with new values in the rows for which the condition holds."""
        holds = None if condition is None else call("IS TRUE", [condition])
        expressions = []
        for at, place in enumerate(self.places):
            old: Rex = Ref(plan.schema[place].type, place)
            new = values.get(at)
            if new is not None:
                old = new if holds is None else call("CASE", [holds, new, old])
            expressions.append(cast_to(old, self.columns[at].type))
        fields = tuple(Field(column.name, each.type) for column, each in zip(self.columns, expressions))
        return unnest(Project(plan, tuple(expressions), fields))

    def matching(self) -> Rel:
        """The rows that the statement is about."""
        return self.read if self.condition is None else unnest(Filter(self.read, self.condition))

    def written_by_key(self, plan: Rel, kind: int) -> TableResult:
        """The rows of a plan, over the stored columns, written by their keys."""
        rows = self.session.engine.execute([plan], self.session)._batches
        batches = [Rows(each.batch) for each in rows if len(each)]
        if not batches:
            return _changed(Changed(0))
        together = concat(batches)
        self.changer.write(Rows(together.batch, np.full(len(together), kind, np.uint8)))
        return _changed(Changed(len(together)))

    def rewritten(self, plan: Rel, kind: str) -> TableResult:
        """The rows of a plan in the place of all rows."""
        sink = self.changer.rewriting()
        if sink is None:
            _refuse_without_key(self.path, kind)
        result = self.session.engine.execute([Sink(plan, self.target, sink, False, (), self.columns)], self.session)
        result.wait()
        return result


def delete(statement: s.Delete, session: Session) -> TableResult:
    """Take away the rows for which the condition is TRUE.

    :raises TableException: streaming mode, no such table, or one whose connector cannot.
    """
    changing = _Changing(statement, "DELETE", session)
    stored = changing.stored(changing.condition)
    if changing.condition is None or stored is not None:
        handed_on = changing.changer.delete(stored)
        if handed_on is not None:
            return _changed(handed_on)
    if changing.changer.keys:
        return changing.written_by_key(changing.of_stored(changing.matching(), {}, None), DELETE)
    condition = changing.condition
    stays = call("IS NOT TRUE", [condition]) if condition is not None else call("NOT", [TRUE])
    return changing.rewritten(changing.of_stored(unnest(Filter(changing.read, stays)), {}, None), "DELETE")


def update(statement: s.Update, session: Session) -> TableResult:
    """Give columns new values in the rows for which the condition is TRUE. Values are those of before.

    :raises TableException: streaming mode, no such table, or one whose connector cannot.
    """
    changing = _Changing(statement, "UPDATE", session)
    values = _values(statement, changing)
    stored = {at: changing.stored(changing.folded(value)) for at, value in values.items()}
    where = changing.stored(changing.condition)
    if all(each is not None for each in stored.values()) and (changing.condition is None or where is not None):
        handed_on = changing.changer.update({at: each for at, each in stored.items() if each is not None}, where)
        if handed_on is not None:
            return _changed(handed_on)
    keys = changing.changer.keys
    if keys:
        for at in keys:
            if at in values:
                name = changing.columns[at].name
                raise problem(
                    f"UPDATE of '{name}', a column of the PRIMARY KEY of {changing.path}, to what the database cannot "
                    f"compute by itself: DELETE the rows and INSERT new ones"
                )
        return changing.written_by_key(changing.of_stored(changing.matching(), values, None), UPDATE_AFTER)
    return changing.rewritten(changing.of_stored(changing.read, values, changing.condition), "UPDATE")


def truncate(statement: s.Truncate, session: Session) -> TableResult:
    """Take all rows away.

    :raises TableException: streaming mode, no such table, or one whose connector cannot.
    """
    _changer(_table(statement, "TRUNCATE TABLE", session), "TRUNCATE TABLE", session).truncate()
    return done()


def _table(statement: s.Update | s.Delete | s.Truncate, kind: str, session: Session) -> FoundTable:
    if session.streaming:
        raise problem(f"{kind} is for batch mode: EnvironmentSettings.in_batch_mode()")
    found = session.catalogs.find_table(statement.path)
    if found is None:
        raise problem(
            f"there is no table '{statement.path}'{did_you_mean(statement.path[-1], session.catalogs.list_tables())}"
        )
    if found.table.is_view:
        raise problem(f"{found.identifier.as_summary_string()} is a view: {kind} is for tables")
    return found


def _changer(found: FoundTable, kind: str, session: Session) -> TableChanger:
    context = table_context(found.identifier, found.table, {}, session)
    factory = session.connectors.factory_of(context.options, context.summary)
    changer = factory.changer(context)
    if changer is None:
        raise problem(f"{kind} of {context.summary}: the connector '{factory.identifier}' cannot change rows in place")
    forget(context.path, session)
    return changer


def _values(statement: s.Update, changing: _Changing) -> dict[int, Rex]:
    names = [column.name for column in changing.columns]
    values: dict[int, Rex] = {}
    for name, tree in statement.assignments:
        if name not in names:
            known = did_you_mean(name, names)
            computed = any(column.name == name for column in changing.read.schema)
            fail(name, f"'{name}' is computed" if computed else f"{changing.path} has no column '{name}'{known}")
        at = names.index(name)
        if at in values:
            fail(name, f"column '{name}' is set twice")
        value = bind(tree.tree, changing.block.named("SET"))
        kind = changing.columns[at].type
        if not fits(value.type, kind):
            fail(tree.tree, f"column '{name}' is {kind}, and the value is {value.type}: CAST it")
        values[at] = cast_to(value, kind)
    return values


def _refuse_without_key(path: str, kind: str) -> NoReturn:
    raise problem(
        f"{kind} of {path}: the database cannot be given this statement as it is, and without a PRIMARY KEY rows "
        f"cannot be found again: declare the key, or compare columns with constants only"
    )


def _changed(changed: Changed) -> TableResult:
    if changed.rows is None:
        return done()
    return listing((Field("rows affected", t.BigIntType(False)),), [(changed.rows,)])


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
    if not plugins.has(ENTRY_POINTS, name):
        raise problem(
            f"there is no module '{name}': a module made in Python is loaded with load_module(), one of a package has "
            f"an entry point in {ENTRY_POINTS}"
        )
    return plugins.make(ENTRY_POINTS, name, Module)


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


def call_procedure(statement: s.Call, session: Session) -> TableResult:
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
    return run(session.statement(text), session)


def run(statement: s.Statement, session: Session) -> TableResult:
    runner = _RUNNERS.get(type(statement))
    if runner is None:
        raise not_yet(*_NEAREST.get(type(statement), (statement.first_words, "another statement")))
    return runner(statement, session)


def insert_plans(text: str, session: Session) -> list[Sink]:
    """The plans of an INSERT, or of a statement set.

    :raises TableException: another statement.
    """
    statement = session.statement(text)
    if not isinstance(statement, (s.Insert, s.StatementSet)):
        raise problem(f"only INSERT can be added to a statement set, not {statement.first_words}")
    return plans_of(statement, session)


def plans_of(statement: s.Insert | s.StatementSet, session: Session) -> list[Sink]:
    inserts = statement.inserts if isinstance(statement, s.StatementSet) else (statement,)
    return [bind_insert(each, session) for each in inserts]


def _query(statement: s.Query, session: Session) -> TableResult:
    return session.engine.execute([bind_query(statement.tree, session)], session)


def _insert(statement: s.Insert | s.StatementSet, session: Session) -> TableResult:
    plans = plans_of(statement, session)
    return session.engine.execute(plans, session) if plans else done()


def _explain(statement: s.Explain, session: Session) -> TableResult:
    from millrace.table.sessions.session import ExplainDetail

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
    s.Update: update,
    s.Delete: delete,
    s.Truncate: truncate,
    s.Call: call_procedure,
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
