"""EXPLAIN, SET, RESET, modules, jars, jobs, ANALYZE, plans."""

from __future__ import annotations

import re

from millrace.table.sql.grammar.common import names, partition, with_options
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.statements.create import create
from millrace.table.sql.grammar.statements.dml import executable, execute
from millrace.table.sql.statements import (
    Analyze,
    ClientCommand,
    CompilePlan,
    CreateTable,
    ExecutePlan,
    Explain,
    Jar,
    LoadModule,
    Query,
    Reset,
    Set,
    Statement,
    StopJob,
    UnloadModule,
)
from millrace.table.sql.text.names import Name
from millrace.table.sql.text.tokens import Kind

DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
_PLAIN_KEY, _PLAIN_VALUE = re.compile(r"[^\s'\"`;=]+"), re.compile(r"[^\s'\"`;]+")


def explain(cursor: Cursor) -> Explain:
    cursor.expect("EXPLAIN")
    details: tuple[str, ...] = ()
    if not cursor.take("PLAN", "FOR") and cursor.at_any(*DETAILS):
        details = tuple(cursor.listed(lambda: cursor.expect_any(*DETAILS)))
    if not cursor.at_any("CREATE", "REPLACE"):
        # EXECUTE says no more than the statement itself.
        cursor.take("EXECUTE")
        return Explain(executable(cursor), details)
    begin = cursor.index
    made = create(cursor)
    if not isinstance(made, CreateTable) or made.query is None:
        cursor.fail("of what is created only CREATE TABLE .. AS SELECT has a plan", begin)
    return Explain(made, details)


def set_option(cursor: Cursor) -> Set:
    cursor.expect("SET")
    if cursor.token.kind is Kind.END:
        return Set()
    key = _key(cursor)
    cursor.expect("=")
    if cursor.token.kind is Kind.STRING:
        return Set(key, cursor.string())
    return Set(key, cursor.unbroken(_PLAIN_VALUE, "a value"))


def reset(cursor: Cursor) -> Reset:
    cursor.expect("RESET")
    if cursor.token.kind is Kind.END:
        return Reset()
    return Reset(_key(cursor))


def _key(cursor: Cursor) -> Name:
    """A key of the configuration, in single quotes or without."""
    return cursor.unbroken(_PLAIN_KEY, "a key") if cursor.token.kind is Kind.WORD else cursor.string("a key")


def load(cursor: Cursor) -> LoadModule:
    cursor.expect("LOAD", "MODULE")
    name = cursor.name("a name of a module")
    return LoadModule(name, with_options(cursor))


def unload(cursor: Cursor) -> UnloadModule:
    cursor.expect("UNLOAD", "MODULE")
    return UnloadModule(cursor.name("a name of a module"))


def jar(cursor: Cursor) -> Jar:
    action = cursor.expect_any("ADD", "REMOVE")
    cursor.expect("JAR")
    return Jar(action, cursor.string("a path in single quotes"))


def stop(cursor: Cursor) -> StopJob:
    cursor.expect("STOP", "JOB")
    job = cursor.string("the id of a job in single quotes")
    flags = {"SAVEPOINT": False, "DRAIN": False}
    while cursor.take("WITH"):
        flags[cursor.expect_any(*flags)] = True
    return StopJob(job, flags["SAVEPOINT"], flags["DRAIN"])


def analyze(cursor: Cursor) -> Analyze:
    cursor.expect("ANALYZE", "TABLE")
    path = cursor.path("a name of a table")
    spec = partition(cursor) if cursor.take("PARTITION") else ()
    cursor.expect("COMPUTE", "STATISTICS")
    if not cursor.take("FOR"):
        return Analyze(path, spec)
    if cursor.take("ALL"):
        cursor.expect("COLUMNS")
        return Analyze(path, spec, all_columns=True)
    cursor.expect("COLUMNS")
    columns = names(cursor) if cursor.at("(") else tuple(cursor.listed(lambda: cursor.name("a name of a column")))
    return Analyze(path, spec, columns)


def compile_plan(cursor: Cursor) -> CompilePlan:
    cursor.expect("COMPILE")
    runs = cursor.take("AND", "EXECUTE")
    cursor.expect("PLAN")
    file = cursor.string("a path in single quotes")
    missing = cursor.take("IF", "NOT", "EXISTS")
    cursor.expect("FOR")
    begin = cursor.index
    statement = executable(cursor)
    if isinstance(statement, Query):
        cursor.fail("only the plan of INSERT or STATEMENT SET can be compiled", begin)
    return CompilePlan(file, statement, missing, runs)


def run(cursor: Cursor) -> Statement:
    """EXECUTE PLAN 'file', or EXECUTE and a statement."""
    if not cursor.take("EXECUTE", "PLAN"):
        return execute(cursor)
    return ExecutePlan(cursor.string("a path in single quotes"))


def client_command(cursor: Cursor) -> ClientCommand:
    name = cursor.expect_any("HELP", "CLEAR", "QUIT", "EXIT")
    return ClientCommand("QUIT" if name == "EXIT" else name)
