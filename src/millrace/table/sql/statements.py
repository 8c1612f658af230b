"""Statements as frozen dataclasses: the results of ``grammar/parser.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from millrace.relational.types import DataType
from millrace.table.sql import nodes
from millrace.table.sql.nodes.queries import Node
from millrace.table.sql.text import Name, Path, Position
from millrace.util.record import Record

__all__ = [
    "Add",
    "AddPartitions",
    "Alter",
    "Analyze",
    "Call",
    "Change",
    "ClientCommand",
    "Column",
    "CompilePlan",
    "ComputedColumn",
    "CreateCatalog",
    "CreateDatabase",
    "CreateFunction",
    "CreateMaterializedTable",
    "CreateModel",
    "CreateTable",
    "CreateView",
    "Delete",
    "Describe",
    "DescribeJob",
    "DescribeQuery",
    "Distribution",
    "Drop",
    "DropColumns",
    "DropPart",
    "DropPartitions",
    "Element",
    "ExecutePlan",
    "Explain",
    "Insert",
    "Jar",
    "Like",
    "LoadModule",
    "MetadataColumn",
    "Modify",
    "Options",
    "PartitionSpec",
    "Pattern",
    "PhysicalColumn",
    "PlacedColumn",
    "PrimaryKey",
    "Query",
    "Refresh",
    "Rename",
    "RenameColumn",
    "Reset",
    "ResetOptions",
    "Resume",
    "Schema",
    "Set",
    "SetComment",
    "SetFunction",
    "SetOptions",
    "SetQuery",
    "Show",
    "Statement",
    "StatementSet",
    "StopJob",
    "Summarize",
    "Suspend",
    "Truncate",
    "UnloadModule",
    "Update",
    "UseCatalog",
    "UseDatabase",
    "UseModules",
    "Watermark",
    "Written",
]


Options: TypeAlias = Mapping[str, str]
"""What WITH says. Keys are ``Name``."""

PartitionSpec: TypeAlias = tuple[tuple[Name, nodes.Node | None], ...]
"""Columns with their values: literals, or None where only the column is named."""


class Statement(Record):
    """A statement. ``position`` is its place in the script, without the semicolon."""

    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def first_words(self) -> str:
        """The first two words, which say what kind of statement it is."""
        return " ".join(self.text.split()[:2]).upper() or type(self).__name__

    @property
    def text(self) -> str:
        """The statement as it was written."""
        return self.position.text if self.position else ""


class Written(Record):
    """A query or expression together with the text that it was written as. Equal if the trees are."""

    tree: nodes.Node
    text: str = field(compare=False)


# CREATE TABLE


class PhysicalColumn(Record):
    name: Name
    data_type: DataType
    comment: str | None = None


class MetadataColumn(Record):
    """``key``: under which the connector has it; by default the name. A virtual one is not written."""

    name: Name
    data_type: DataType
    key: str | None = None
    virtual: bool = False
    comment: str | None = None


class ComputedColumn(Record):
    name: Name
    expression: Written
    comment: str | None = None


Column: TypeAlias = PhysicalColumn | MetadataColumn | ComputedColumn


class Watermark(Record):
    """WATERMARK FOR column AS expression. The column may be a field of a row: then it has several names."""

    column: Path
    expression: Written


class PrimaryKey(Record):
    """A primary key. It is not checked when rows arrive, as NOT ENFORCED says."""

    columns: tuple[Name, ...]
    name: str | None = None


class Distribution(Record):
    """``kind``: HASH, RANGE, or None if the connector chooses."""

    columns: tuple[Name, ...] = ()
    kind: str | None = None
    buckets: int | None = None


class Schema(Record):
    """Columns, watermark and key of a table."""

    columns: tuple[Column, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    order: tuple[Name, ...] = ()
    """the order of the query's columns in CREATE TABLE t (b, a) AS SELECT"""


class Like(Record):
    """LIKE source ( .. ). ``rules``: part (ALL, CONSTRAINTS, DISTRIBUTION, GENERATED, METADATA, OPTIONS, PARTITIONS,
    WATERMARKS) to INCLUDING, EXCLUDING or OVERWRITING, as written."""

    source: Path
    rules: Mapping[str, str] = field(default_factory=dict)

    def rule(self, part: str) -> str:
        """What happens to a part: as written, else as Flink does by default."""
        default = "OVERWRITING" if part == "OPTIONS" else "INCLUDING"
        return self.rules.get(part, self.rules.get("ALL", default))


class CreateTable(Statement):
    """``replace`` and no ``create``: REPLACE TABLE, of a table that is there."""

    path: Path
    schema: Schema = Schema()
    comment: str | None = None
    partitioned_by: tuple[Name, ...] = ()
    distribution: Distribution | None = None
    options: Options = field(default_factory=dict)
    like: Like | None = None
    query: Written | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    create: bool = True


class CreateMaterializedTable(Statement):
    """``freshness``: an IntervalLiteral. ``refresh_mode``: CONTINUOUS, FULL or None. ``or_alter``: one may be there."""

    path: Path
    query: Written
    schema: Schema = Schema()
    comment: str | None = None
    partitioned_by: tuple[Name, ...] = ()
    distribution: Distribution | None = None
    options: Options = field(default_factory=dict)
    freshness: Written | None = None
    refresh_mode: str | None = None
    if_not_exists: bool = False
    or_alter: bool = False


# Queries and changes of rows


class Query(Statement):
    tree: nodes.Node


class Insert(Statement):
    """``options``: of the hint after the table. ``on_conflict``: ERROR, NOTHING, DEDUPLICATE or None."""

    path: Path
    query: Written
    columns: tuple[Name, ...] = ()
    partition: PartitionSpec = ()
    overwrite: bool = False
    options: Options = field(default_factory=dict)
    on_conflict: str | None = None


class StatementSet(Statement):
    """Inserts that are one job."""

    inserts: tuple[Insert, ...]


class Delete(Statement):
    path: Path
    condition: Written | None = None


class Update(Statement):
    path: Path
    assignments: tuple[tuple[Name, Written], ...]
    condition: Written | None = None


class Truncate(Statement):
    path: Path


class Call(Statement):
    """A procedure of a catalog. Arguments by name are ``nodes.Kwarg``."""

    path: Path
    arguments: tuple[nodes.Node, ...] = ()


# CREATE and DROP of other objects


class CreateCatalog(Statement):
    name: Name
    options: Options = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


class CreateDatabase(Statement):
    path: Path
    options: Options = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


class CreateView(Statement):
    """``columns``: names with their comments; none: the query's names."""

    path: Path
    query: Written
    columns: tuple[tuple[Name, str | None], ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False


class CreateFunction(Statement):
    """``identifier``: ``module.name`` for LANGUAGE PYTHON. ``system``: it needs no catalog and database.

    ``resources``: kind (JAR, FILE, ARCHIVE) and path of each that USING names.
    """

    path: Path
    identifier: str
    language: str = "JAVA"
    resources: tuple[tuple[str, str], ...] = ()
    options: Options = field(default_factory=dict)
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


class CreateModel(Statement):
    path: Path
    inputs: tuple[PhysicalColumn, ...] = ()
    outputs: tuple[PhysicalColumn, ...] = ()
    comment: str | None = None
    options: Options = field(default_factory=dict)
    query: Written | None = None
    temporary: bool = False
    if_not_exists: bool = False


class Drop(Statement):
    """``kind``: CATALOG, DATABASE, TABLE, MATERIALIZED TABLE, VIEW, FUNCTION, MODEL. ``cascade``: of a database."""

    kind: str
    path: Path
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


# ALTER


class PlacedColumn(Record):
    """A column with its place: first, after another, or (neither) where it is or at the end."""

    column: Column
    first: bool = False
    after: Name | None = None


Element: TypeAlias = PlacedColumn | Watermark | PrimaryKey | Distribution


class Add(Record):
    elements: tuple[Element, ...]


class Modify(Record):
    elements: tuple[Element, ...]


class DropColumns(Record):
    columns: tuple[Path, ...]


class DropPart(Record):
    """``part``: PRIMARY KEY, WATERMARK, DISTRIBUTION, or CONSTRAINT with its name."""

    part: str
    name: Name | None = None


class RenameColumn(Record):
    column: Path
    to: Name


class Rename(Record):
    to: Path


class SetOptions(Record):
    options: Options


class ResetOptions(Record):
    keys: tuple[Name, ...]


class SetComment(Record):
    comment: str


class AddPartitions(Record):
    """Partitions with their options."""

    partitions: tuple[tuple[PartitionSpec, Options], ...]
    if_not_exists: bool = False


class DropPartitions(Record):
    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


class SetQuery(Record):
    """AS SELECT .., of a view or a materialized table."""

    query: Written


class SetFunction(Record):
    identifier: str
    language: str = "JAVA"
    temporary: bool = False
    system: bool = False


class Suspend(Record):
    """ALTER MATERIALIZED TABLE .. SUSPEND: the table is not refreshed any more."""


class Resume(Record):
    options: Options = field(default_factory=dict)


class Refresh(Record):
    partition: PartitionSpec = ()


Change: TypeAlias = (
    Add
    | Modify
    | DropColumns
    | DropPart
    | RenameColumn
    | Rename
    | SetOptions
    | ResetOptions
    | SetComment
    | AddPartitions
    | DropPartitions
    | SetQuery
    | SetFunction
    | Suspend
    | Resume
    | Refresh
)


class Alter(Statement):
    """``kind``: TABLE, MATERIALIZED TABLE, VIEW, DATABASE, FUNCTION, CATALOG, MODEL."""

    kind: str
    path: Path
    change: Change
    if_exists: bool = False


# The session


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
    """SET key = value; without a key all settings are shown."""

    key: str | None = None
    value: str | None = None


class Reset(Statement):
    """RESET key; without a key all settings get their defaults back."""

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
