"""ALTER of all but tables."""

from __future__ import annotations

from collections.abc import Callable

from millrace.table.sql.grammar.common import if_exists, option_keys, options, written_query
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.statements.alter_table import alter_materialized_table, alter_table
from millrace.table.sql.grammar.statements.create import language_of
from millrace.table.sql.statements import (
    Alter,
    Change,
    Rename,
    ResetOptions,
    SetComment,
    SetFunction,
    SetOptions,
    SetQuery,
    Statement,
)


def alter(cursor: Cursor) -> Statement:
    begin = cursor.index
    cursor.expect("ALTER")
    temporary = cursor.take("TEMPORARY")
    system = temporary and cursor.take("SYSTEM")
    kind = cursor.expect_any("TABLE", "MATERIALIZED", "VIEW", "DATABASE", "FUNCTION", "CATALOG", "MODEL")
    if temporary and kind != "FUNCTION":
        cursor.fail(f"there is no ALTER TEMPORARY {kind}: drop it and create it anew", begin)
    if kind == "MATERIALIZED":
        cursor.expect("TABLE")
        kind = "MATERIALIZED TABLE"
    exists = if_exists(cursor)
    path = cursor.path(f"a name of a {kind.lower()}")
    if kind == "FUNCTION":
        return Alter(kind, path, _function(cursor, temporary, system), exists)
    return Alter(kind, path, _READERS[kind](cursor), exists)


def _function(cursor: Cursor, temporary: bool, system: bool) -> SetFunction:
    cursor.expect("AS")
    identifier = cursor.string("'module.name' of the function")
    return SetFunction(identifier, language_of(cursor), temporary, system)


def _view(cursor: Cursor) -> Change:
    if cursor.expect_any("RENAME", "AS") == "AS":
        return SetQuery(written_query(cursor))
    return _rename(cursor)


def _rename(cursor: Cursor) -> Rename:
    cursor.expect("TO")
    return Rename(cursor.path("a new name"))


def _database(cursor: Cursor) -> Change:
    return _settings(cursor, "SET", "RESET")


def _catalog(cursor: Cursor) -> Change:
    return _settings(cursor, "SET", "RESET", "COMMENT")


def _model(cursor: Cursor) -> Change:
    return _settings(cursor, "SET", "RESET", "RENAME")


def _settings(cursor: Cursor, *words: str) -> Change:
    word = cursor.expect_any(*words)
    if word == "SET":
        return SetOptions(options(cursor))
    if word == "RESET":
        return ResetOptions(option_keys(cursor))
    return SetComment(cursor.string()) if word == "COMMENT" else _rename(cursor)


_READERS: dict[str, Callable[[Cursor], Change]] = {
    "TABLE": alter_table,
    "MATERIALIZED TABLE": alter_materialized_table,
    "VIEW": _view,
    "DATABASE": _database,
    "CATALOG": _catalog,
    "MODEL": _model,
}
