"""SHOW, DESCRIBE, USE."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.grammar import queries, relations
from millrace.table.sql.grammar.common import partition
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.statements import (
    Describe,
    DescribeJob,
    DescribeQuery,
    Pattern,
    Show,
    Statement,
    Summarize,
    UseCatalog,
    UseDatabase,
    UseModules,
)
from millrace.table.sql.text.errors import did_you_mean
from millrace.table.sql.text.names import Path

_WITH_DATABASE = ("TABLES", "VIEWS", "MATERIALIZED TABLES", "FUNCTIONS", "USER FUNCTIONS", "PROCEDURES", "MODELS")
"""May have FROM or IN, and a pattern."""

_WITH_PATH = ("CREATE TABLE", "CREATE VIEW", "CREATE MATERIALIZED TABLE", "CREATE MODEL", "CREATE CATALOG")

_KINDS = (
    *("CURRENT CATALOG", "CURRENT DATABASE", "CATALOGS", "DATABASES", "COLUMNS", "PARTITIONS"),
    *("FULL MODULES", "MODULES", "JARS", "JOBS"),
    *_WITH_DATABASE,
    *_WITH_PATH,
)


def show(cursor: Cursor) -> Show:
    cursor.expect("SHOW")
    kind = next((kind for kind in _KINDS if cursor.take(*kind.split())), None)
    if kind is None and cursor.take("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE"):
        kind = "CREATE MATERIALIZED TABLE"
    if kind is None:
        word = cursor.token.text
        cursor.fail(f"there is no SHOW {word}{did_you_mean(word, _KINDS)}" if word else "SHOW what?")
    if kind in _WITH_PATH:
        return Show(kind, cursor.path("a name"))
    if kind == "PARTITIONS":
        path = cursor.path("a name of a table")
        return Show(kind, path, partition=partition(cursor) if cursor.take("PARTITION") else ())
    if kind == "COLUMNS":
        cursor.expect_any("FROM", "IN")
        return Show(kind, cursor.path("a name of a table"), _pattern(cursor))
    if kind in ("CATALOGS", "DATABASES", *_WITH_DATABASE):
        return Show(kind, None if kind == "CATALOGS" else _from(cursor), _pattern(cursor))
    if kind in ("JARS", "JOBS"):
        return Show(kind, pattern=_pattern(cursor))
    return Show(kind)


def _from(cursor: Cursor) -> Path | None:
    return cursor.path("a name of a database") if cursor.take_any("FROM", "IN") else None


def _pattern(cursor: Cursor) -> Pattern | None:
    if not cursor.at_any("NOT", "LIKE", "ILIKE"):
        return None
    negated = cursor.take("NOT")
    ignore_case = cursor.expect_any("LIKE", "ILIKE") == "ILIKE"
    return Pattern(cursor.string("a pattern in single quotes"), negated, ignore_case)


def describe(cursor: Cursor) -> Statement:
    cursor.expect_any("DESCRIBE", "DESC")
    if cursor.take("JOB"):
        return DescribeJob(cursor.string("the id of a job in single quotes"))
    if queries.starts(cursor):
        return DescribeQuery(queries.query(cursor))
    # A table may be called CATALOG or EXTENDED: then no name follows.
    kind = cursor.take_any("CATALOG", "DATABASE", "FUNCTION", "MODEL") if cursor.is_name(1) else ""
    extended = cursor.is_name(1) and cursor.take("EXTENDED")
    return Describe(kind or "TABLE", cursor.path(f"a name of a {kind.lower() or 'table'}"), extended)


def summarize(cursor: Cursor) -> Statement:
    cursor.expect("SUMMARIZE")
    begin = cursor.index
    if queries.starts(cursor, nested=False):
        return Summarize(cursor.put(nodes.Subquery(this=queries.query(cursor)), begin))
    return Summarize(relations.relation(cursor))


def use(cursor: Cursor) -> Statement:
    cursor.expect("USE")
    if cursor.at("CATALOG") and cursor.is_name(1):
        cursor.advance()
        return UseCatalog(cursor.name("a name of a catalog"))
    if cursor.at("MODULES") and cursor.is_name(1):
        cursor.advance()
        return UseModules(tuple(cursor.listed(lambda: cursor.name("a name of a module"))))
    return UseDatabase(cursor.path("a name of a database"))
