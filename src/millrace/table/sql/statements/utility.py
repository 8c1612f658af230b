"""Statements that look at or change the session."""

from __future__ import annotations

from dataclasses import field

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.statements.base import Options, PartitionSpec, Statement
from millrace.table.sql.statements.dml import Insert, Query, StatementSet
from millrace.table.sql.statements.tables import CreateTable
from millrace.table.sql.text.names import Name, Path
from millrace.util.record import Record


class Pattern(Record):
    """[NOT] LIKE 'a%', or ILIKE, which does not mind case."""

    text: str
    negated: bool = False
    ignore_case: bool = False


class Show(Statement):
    """``kind``: CATALOGS, DATABASES, TABLES, VIEWS, MATERIALIZED TABLES, COLUMNS, PARTITIONS, PROCEDURES, FUNCTIONS,
    USER FUNCTIONS, MODULES, FULL MODULES, MODELS, JARS, JOBS, CURRENT CATALOG, CURRENT DATABASE, CREATE CATALOG,
    CREATE TABLE, CREATE VIEW, CREATE MATERIALIZED TABLE, CREATE MODEL.

    ``path``: what FROM or IN names, or the object that is shown.
    """

    kind: str
    path: Path | None = None
    pattern: Pattern | None = None
    partition: PartitionSpec = ()


class Describe(Statement):
    """``kind``: TABLE (also a view), CATALOG, DATABASE, FUNCTION, MODEL."""

    kind: str
    path: Path
    extended: bool = False


class DescribeQuery(Statement):
    """The columns of a query."""

    tree: Node


class Summarize(Statement):
    """Figures about each column of what could stand in FROM: a table, a file, a query in brackets."""

    relation: Node


class Explain(Statement):
    """``details``: ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE."""

    statement: Query | Insert | StatementSet | CreateTable
    details: tuple[str, ...] = ()


class UseCatalog(Statement):
    name: Name


class UseDatabase(Statement):
    path: Path


class UseModules(Statement):
    names: tuple[Name, ...]


class Set(Statement):
    """Without a key: all settings are shown."""

    key: str | None = None
    value: str | None = None


class Reset(Statement):
    """Without a key: all settings are put back."""

    key: str | None = None


class LoadModule(Statement):
    name: Name
    options: Options = field(default_factory=dict)


class UnloadModule(Statement):
    name: Name


class Jar(Statement):
    """``action``: ADD or REMOVE."""

    action: str
    file: str


class StopJob(Statement):
    job: str
    with_savepoint: bool = False
    with_drain: bool = False


class DescribeJob(Statement):
    job: str


class Analyze(Statement):
    """``columns``: for which statistics are computed; ``all_columns``: for each."""

    path: Path
    partition: PartitionSpec = ()
    columns: tuple[Name, ...] = ()
    all_columns: bool = False


class CompilePlan(Statement):
    """Write the plan of an insert to a file, and run it if ``execute``."""

    file: str
    statement: Insert | StatementSet
    if_not_exists: bool = False
    execute: bool = False


class ExecutePlan(Statement):
    file: str


class ClientCommand(Statement):
    """HELP, CLEAR, QUIT: of the interactive client."""

    name: str
