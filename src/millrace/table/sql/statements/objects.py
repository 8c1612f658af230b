"""CREATE and DROP of catalogs, databases, views, functions and models; DROP TABLE."""

from __future__ import annotations

from dataclasses import field

from millrace.table.sql.statements.base import Options, Statement, Written
from millrace.table.sql.statements.tables import PhysicalColumn
from millrace.table.sql.text.names import Name, Path


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
