"""Statements that look at or change the session."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.statements.base import Options, PartitionSpec, Statement
from millrace.table.sql.statements.dml import Insert, Query, StatementSet
from millrace.table.sql.statements.tables import CreateTable
from millrace.table.sql.text.names import Name, Path


@dataclass(frozen=True)
class Pattern:
    """[NOT] LIKE 'a%', or ILIKE, which does not mind case."""

    text: str
    negated: bool = False
    ignore_case: bool = False


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Describe(Statement):
    """``kind``: TABLE (also a view), CATALOG, DATABASE, FUNCTION, MODEL."""

    kind: str
    path: Path
    extended: bool = False


@dataclass(frozen=True)
class DescribeQuery(Statement):
    """The columns of a query."""

    tree: Node


@dataclass(frozen=True)
class Summarize(Statement):
    """Figures about each column of what could stand in FROM: a table, a file, a query in brackets."""

    relation: Node


@dataclass(frozen=True)
class Explain(Statement):
    """``details``: ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE."""

    statement: Query | Insert | StatementSet | CreateTable
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class UseCatalog(Statement):
    name: Name


@dataclass(frozen=True)
class UseDatabase(Statement):
    path: Path


@dataclass(frozen=True)
class UseModules(Statement):
    names: tuple[Name, ...]


@dataclass(frozen=True)
class Set(Statement):
    """Without a key: all settings are shown."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Reset(Statement):
    """Without a key: all settings are put back."""

    key: str | None = None


@dataclass(frozen=True)
class LoadModule(Statement):
    name: Name
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class UnloadModule(Statement):
    name: Name


@dataclass(frozen=True)
class Jar(Statement):
    """``action``: ADD or REMOVE."""

    action: str
    file: str


@dataclass(frozen=True)
class StopJob(Statement):
    job: str
    with_savepoint: bool = False
    with_drain: bool = False


@dataclass(frozen=True)
class DescribeJob(Statement):
    job: str


@dataclass(frozen=True)
class Analyze(Statement):
    """``columns``: for which statistics are computed; ``all_columns``: for each."""

    path: Path
    partition: PartitionSpec = ()
    columns: tuple[Name, ...] = ()
    all_columns: bool = False


@dataclass(frozen=True)
class CompilePlan(Statement):
    """Write the plan of an insert to a file, and run it if ``execute``."""

    file: str
    statement: Insert | StatementSet
    if_not_exists: bool = False
    execute: bool = False


@dataclass(frozen=True)
class ExecutePlan(Statement):
    file: str


@dataclass(frozen=True)
class ClientCommand(Statement):
    """HELP, CLEAR, QUIT: of the interactive client."""

    name: str
