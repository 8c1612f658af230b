"""CREATE and DROP."""

from __future__ import annotations

from millrace.table.sql.grammar.common import comment, if_exists, if_not_exists, with_options, written_query
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.statements.columns import only_physical, schema
from millrace.table.sql.grammar.statements.create_table import create_materialized_table, create_table
from millrace.table.sql.statements import (
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateModel,
    CreateView,
    Drop,
    PhysicalColumn,
    Statement,
)
from millrace.table.sql.text.names import Name

_KINDS = ("TABLE", "MATERIALIZED", "VIEW", "CATALOG", "DATABASE", "FUNCTION", "MODEL")
_MAY_BE_TEMPORARY = ("TABLE", "VIEW", "FUNCTION", "MODEL")


def create(cursor: Cursor) -> Statement:
    """CREATE .., or REPLACE TABLE."""
    begin = cursor.index
    if cursor.take("REPLACE"):
        cursor.expect("TABLE")
        return create_table(cursor, temporary=False, replace=True, create=False)
    cursor.expect("CREATE")
    replace = cursor.take("OR", "REPLACE")
    or_alter = not replace and cursor.take("OR", "ALTER")
    temporary, system = _temporary(cursor)
    kind = cursor.expect_any(*_KINDS)
    _check(cursor, begin, kind, temporary, system)
    if (replace and kind != "TABLE") or (or_alter and kind != "MATERIALIZED"):
        way = "OR REPLACE" if replace else "OR ALTER"
        cursor.fail(f"there is no CREATE {way} {kind}: drop it first, or ALTER it", begin)
    if kind == "TABLE":
        return create_table(cursor, temporary, replace)
    if kind == "MATERIALIZED":
        cursor.expect("TABLE")
        return create_materialized_table(cursor, or_alter)
    if kind == "FUNCTION":
        return _function(cursor, temporary, system)
    if kind in ("VIEW", "MODEL"):
        return (_view if kind == "VIEW" else _model)(cursor, temporary)
    return (_catalog if kind == "CATALOG" else _database)(cursor)


def drop(cursor: Cursor) -> Statement:
    begin = cursor.index
    cursor.expect("DROP")
    temporary, system = _temporary(cursor)
    kind = cursor.expect_any(*_KINDS)
    _check(cursor, begin, kind, temporary, system)
    if kind == "MATERIALIZED":
        cursor.expect("TABLE")
        kind = "MATERIALIZED TABLE"
    exists = if_exists(cursor)
    path = cursor.path(f"a name of a {kind.lower()}")
    way = cursor.take_any("RESTRICT", "CASCADE") if kind in ("DATABASE", "CATALOG") else ""
    return Drop(kind, path, exists, temporary, system, cascade=way == "CASCADE")


def _temporary(cursor: Cursor) -> tuple[bool, bool]:
    """TEMPORARY and SYSTEM."""
    temporary = cursor.take("TEMPORARY")
    return temporary, temporary and cursor.take("SYSTEM")


def _check(cursor: Cursor, begin: int, kind: str, temporary: bool, system: bool) -> None:
    if system and kind != "FUNCTION":
        cursor.fail(f"only functions are SYSTEM: there is no TEMPORARY SYSTEM {kind}", begin)
    if temporary and kind not in _MAY_BE_TEMPORARY:
        cursor.fail(f"there is no TEMPORARY {kind}", begin)


def _catalog(cursor: Cursor) -> CreateCatalog:
    missing = if_not_exists(cursor)
    name = cursor.name("a name of a catalog")
    remark = comment(cursor)
    return CreateCatalog(name, with_options(cursor), remark, missing)


def _database(cursor: Cursor) -> CreateDatabase:
    missing = if_not_exists(cursor)
    path = cursor.path("a name of a database")
    remark = comment(cursor)
    return CreateDatabase(path, with_options(cursor), remark, missing)


def _view(cursor: Cursor, temporary: bool) -> CreateView:
    missing = if_not_exists(cursor)
    path = cursor.path("a name of a view")
    columns: tuple[tuple[Name, str | None], ...] = ()
    if cursor.at("("):
        columns = cursor.in_brackets(lambda: (cursor.name("a name of a column"), comment(cursor)))
    remark = comment(cursor)
    cursor.expect("AS")
    return CreateView(path, written_query(cursor), columns, remark, temporary, missing)


def _function(cursor: Cursor, temporary: bool, system: bool) -> CreateFunction:
    missing = if_not_exists(cursor)
    path = cursor.path("a name of a function")
    cursor.expect("AS")
    identifier = cursor.string("'module.name' of the function")
    language = language_of(cursor)
    resources = cursor.listed(lambda: _resource(cursor)) if cursor.take("USING") else []
    options = with_options(cursor)
    return CreateFunction(path, identifier, language, tuple(resources), options, temporary, system, missing)


def language_of(cursor: Cursor) -> str:
    return cursor.expect_any("PYTHON", "JAVA", "SCALA") if cursor.take("LANGUAGE") else "JAVA"


def _resource(cursor: Cursor) -> tuple[str, str]:
    kind = cursor.expect_any("JAR", "FILE", "ARCHIVE", "ARTIFACT")
    return kind, cursor.string("a path in single quotes")


def _model(cursor: Cursor, temporary: bool) -> CreateModel:
    missing = if_not_exists(cursor)
    path = cursor.path("a name of a model")
    inputs = _model_columns(cursor, "INPUT")
    outputs = _model_columns(cursor, "OUTPUT")
    remark = comment(cursor)
    options = with_options(cursor)
    query = written_query(cursor) if cursor.take("AS") else None
    return CreateModel(path, inputs, outputs, remark, options, query, temporary, missing)


def _model_columns(cursor: Cursor, word: str) -> tuple[PhysicalColumn, ...]:
    if not cursor.take(word):
        return ()
    begin = cursor.index
    return only_physical(schema(cursor).columns, cursor, begin)
