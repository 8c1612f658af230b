"""CREATE TABLE and CREATE MATERIALIZED TABLE."""

from __future__ import annotations

from typing import Any

from millrace.table.sql.grammar.common import (
    comment,
    if_not_exists,
    names,
    with_options,
    written_expression,
    written_query,
)
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.statements.columns import schema
from millrace.table.sql.statements import CreateMaterializedTable, CreateTable, Distribution, Like, Schema
from millrace.table.sql.text.names import Name

_LIKE_WORDS = {
    "INCLUDING": {
        *("ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS"),
    },
    "OVERWRITING": {"GENERATED", "METADATA", "OPTIONS", "WATERMARKS", "DISTRIBUTION"},
}
_LIKE_WORDS["EXCLUDING"] = _LIKE_WORDS["INCLUDING"]


def create_table(cursor: Cursor, temporary: bool, replace: bool, create: bool = True) -> CreateTable:
    """What follows CREATE TABLE.

    :raises SqlParseError: parts that exclude each other.
    """
    missing = if_not_exists(cursor)
    path = cursor.path("a name of a table")
    columns = _columns(cursor)
    parts = _parts(cursor)
    begin = cursor.index
    like = _like(cursor) if cursor.take("LIKE") else None
    query = written_query(cursor) if cursor.take("AS") else None
    if query and like:
        cursor.fail("LIKE and AS exclude each other", begin)
    if query and temporary:
        cursor.fail("a temporary table cannot be created AS a query: create it, then INSERT", begin)
    if columns.order and query is None:
        cursor.fail("columns without types need AS SELECT ..", begin)
    if replace and query is None:
        cursor.fail_expecting("AS SELECT .. of REPLACE TABLE")
    return CreateTable(
        path,
        columns,
        **parts,
        like=like,
        query=query,
        temporary=temporary,
        if_not_exists=missing,
        replace=replace,
        create=create,
    )


def create_materialized_table(cursor: Cursor, or_alter: bool) -> CreateMaterializedTable:
    """What follows CREATE MATERIALIZED TABLE."""
    missing = if_not_exists(cursor)
    path = cursor.path("a name of a table")
    columns = _columns(cursor)
    parts = _parts(cursor)
    freshness = None
    if cursor.take("FRESHNESS"):
        cursor.expect("=")
        freshness = written_expression(cursor)
    refresh_mode = None
    if cursor.take("REFRESH_MODE"):
        cursor.expect("=")
        refresh_mode = cursor.expect_any("CONTINUOUS", "FULL")
    cursor.expect("AS")
    return CreateMaterializedTable(
        path,
        written_query(cursor),
        columns,
        **parts,
        freshness=freshness,
        refresh_mode=refresh_mode,
        if_not_exists=missing,
        or_alter=or_alter,
    )


def _columns(cursor: Cursor) -> Schema:
    """The brackets after the name: declarations, or (before AS SELECT) names alone."""
    if not cursor.at("("):
        return Schema()
    if cursor.is_name(1) and cursor.peek(2).word in (",", ")"):
        return Schema(order=names(cursor))
    return schema(cursor)


def _parts(cursor: Cursor) -> dict[str, Any]:
    """COMMENT, DISTRIBUTED, PARTITIONED BY, WITH."""
    remark = comment(cursor)
    distribution: Distribution | None = None
    partitioned_by: tuple[Name, ...] = ()
    while cursor.at_any("DISTRIBUTED", "PARTITIONED"):
        begin = cursor.index
        if cursor.take("DISTRIBUTED"):
            if distribution:
                cursor.fail("DISTRIBUTED is given twice", begin)
            distribution = read_distribution(cursor)
        else:
            cursor.expect("PARTITIONED", "BY")
            if partitioned_by:
                cursor.fail("PARTITIONED BY is given twice", begin)
            partitioned_by = names(cursor)
    return {
        "comment": remark,
        "distribution": distribution,
        "partitioned_by": partitioned_by,
        "options": with_options(cursor),
    }


def read_distribution(cursor: Cursor) -> Distribution:
    """``BY HASH (a) INTO 4 BUCKETS``, ``BY (a)``, ``INTO 4 BUCKETS``: what follows DISTRIBUTED or DISTRIBUTION."""
    if cursor.at("INTO"):
        return Distribution(buckets=_buckets(cursor))
    cursor.expect("BY")
    kind = None if cursor.at("(") else cursor.expect_any("HASH", "RANGE")
    columns = names(cursor)
    return Distribution(columns, kind, _buckets(cursor) if cursor.at("INTO") else None)


def _buckets(cursor: Cursor) -> int:
    cursor.expect("INTO")
    count = cursor.integer("a number of buckets")
    cursor.expect("BUCKETS")
    return count


def _like(cursor: Cursor) -> Like:
    source = cursor.path("a name of a table")
    rules: dict[str, str] = {}
    if cursor.take("("):
        while not cursor.take(")"):
            rule = cursor.expect_any("INCLUDING", "EXCLUDING", "OVERWRITING")
            if cursor.token.word not in _LIKE_WORDS[rule]:
                cursor.fail_expecting(f"one of {', '.join(sorted(_LIKE_WORDS[rule]))} after {rule}")
            if cursor.token.word in rules:
                cursor.fail(f"LIKE says twice what happens to {cursor.token.word}")
            rules[cursor.advance().word] = rule
    return Like(source, rules)
