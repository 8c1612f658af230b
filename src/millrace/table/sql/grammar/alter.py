"""ALTER TABLE, ALTER MATERIALIZED TABLE, and ALTER of other objects."""

from __future__ import annotations

from collections.abc import Callable

from millrace.table.sql.grammar.create import (
    at_constraint,
    at_watermark,
    column,
    constraint,
    if_exists,
    if_not_exists,
    language_of,
    option_keys,
    options,
    partition,
    read_distribution,
    read_watermark,
    with_options,
    written_query,
)
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.statements import (
    Add,
    AddPartitions,
    Alter,
    Change,
    DropColumns,
    DropPart,
    DropPartitions,
    Element,
    Modify,
    PlacedColumn,
    Refresh,
    Rename,
    RenameColumn,
    ResetOptions,
    Resume,
    SetComment,
    SetFunction,
    SetOptions,
    SetQuery,
    Statement,
    Suspend,
)

# Tables


def alter_table(cursor: Cursor) -> Change:
    """What follows the name of the table."""
    return _changed(cursor, "ADD", "MODIFY", "DROP", "RENAME", "SET", "RESET")


def alter_materialized_table(cursor: Cursor) -> Change:
    return _changed(cursor, "AS", "SUSPEND", "RESUME", "REFRESH", "ADD", "MODIFY", "DROP", "RENAME", "SET", "RESET")


def _changed(cursor: Cursor, *words: str) -> Change:
    return _CHANGES[cursor.expect_any(*words)](cursor)


def _add(cursor: Cursor) -> Change:
    begin = cursor.index
    missing = if_not_exists(cursor)
    if cursor.at("PARTITION"):
        partitions = []
        while cursor.take("PARTITION"):
            partitions.append((partition(cursor), with_options(cursor)))
            cursor.take(",")
        return AddPartitions(tuple(partitions), missing)
    if missing:
        cursor.fail("IF NOT EXISTS stands only before PARTITION here", begin)
    return Add(_elements(cursor))


def _modify(cursor: Cursor) -> Change:
    return Modify(_elements(cursor))


def _elements(cursor: Cursor) -> tuple[Element, ...]:
    """One element, or several in brackets."""
    if cursor.at("("):
        return tuple(element for part in cursor.in_brackets(lambda: _element(cursor)) for element in part)
    return tuple(_element(cursor))


def _element(cursor: Cursor) -> list[Element]:
    """A column (with its key, if it says PRIMARY KEY), a watermark, a key or a distribution."""
    if at_watermark(cursor):
        return [read_watermark(cursor)]
    if at_constraint(cursor):
        return [constraint(cursor)]
    if cursor.take("DISTRIBUTION"):
        return [read_distribution(cursor)]
    found, key = column(cursor)
    first = cursor.take("FIRST")
    after = cursor.name("a name of a column") if cursor.take("AFTER") else None
    placed: list[Element] = [PlacedColumn(found, first, after)]
    return [*placed, key] if key else placed


def _drop(cursor: Cursor) -> Change:
    exists = if_exists(cursor)
    if cursor.take("PARTITION"):
        specs = [partition(cursor)]
        while cursor.take(","):
            cursor.expect("PARTITION")
            specs.append(partition(cursor))
        return DropPartitions(tuple(specs), exists)
    if cursor.take("PRIMARY", "KEY"):
        return DropPart("PRIMARY KEY")
    if cursor.take("CONSTRAINT"):
        return DropPart("CONSTRAINT", cursor.name("a name of the constraint"))
    for part in ("WATERMARK", "DISTRIBUTION"):
        if cursor.take(part):
            return DropPart(part)
    if cursor.at("("):
        return DropColumns(tuple(cursor.in_brackets(lambda: cursor.path("a name of a column"))))
    return DropColumns((cursor.path("a name of a column"),))


def _rename_in_table(cursor: Cursor) -> Change:
    if cursor.take("TO"):
        return Rename(cursor.path("a new name"))
    old = cursor.path("a name of a column")
    cursor.expect("TO")
    return RenameColumn(old, cursor.name("a new name"))


def _refresh(cursor: Cursor) -> Change:
    return Refresh(partition(cursor) if cursor.take("PARTITION") else ())


_CHANGES: dict[str, Callable[[Cursor], Change]] = {
    "ADD": _add,
    "MODIFY": _modify,
    "DROP": _drop,
    "RENAME": _rename_in_table,
    "SET": lambda cursor: SetOptions(options(cursor)),
    "RESET": lambda cursor: ResetOptions(option_keys(cursor)),
    "AS": lambda cursor: SetQuery(written_query(cursor)),
    "SUSPEND": lambda cursor: Suspend(),
    "RESUME": lambda cursor: Resume(with_options(cursor)),
    "REFRESH": _refresh,
}


# Other objects


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
    return _rename_object(cursor)


def _rename_object(cursor: Cursor) -> Rename:
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
    return SetComment(cursor.string()) if word == "COMMENT" else _rename_object(cursor)


_READERS: dict[str, Callable[[Cursor], Change]] = {
    "TABLE": alter_table,
    "MATERIALIZED TABLE": alter_materialized_table,
    "VIEW": _view,
    "DATABASE": _database,
    "CATALOG": _catalog,
    "MODEL": _model,
}
