"""CREATE and DROP, with the columns, watermark and primary key in the brackets of CREATE TABLE. The first part is what
many statements have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions, queries
from millrace.table.sql.grammar.queries import hints
from millrace.table.sql.grammar.types import data_type
from millrace.table.sql.nodes import hint_options
from millrace.table.sql.statements import (
    Column,
    ComputedColumn,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateMaterializedTable,
    CreateModel,
    CreateTable,
    CreateView,
    Distribution,
    Drop,
    Like,
    MetadataColumn,
    Options,
    PartitionSpec,
    PhysicalColumn,
    PrimaryKey,
    Schema,
    Statement,
    Watermark,
    Written,
)
from millrace.table.sql.text import Cursor, Name

# Parts of many statements


def if_exists(cursor: Cursor) -> bool:
    return cursor.take("IF", "EXISTS")


def if_not_exists(cursor: Cursor) -> bool:
    return cursor.take("IF", "NOT", "EXISTS")


def comment(cursor: Cursor) -> str | None:
    return cursor.string() if cursor.take("COMMENT") else None


def with_options(cursor: Cursor) -> Options:
    """WITH ('key' = 'value', ..), or nothing."""
    return options(cursor) if cursor.take("WITH") else {}


def options(cursor: Cursor) -> Options:
    """``('key' = 'value', ..)``."""
    found: dict[str, str] = {}
    cursor.expect("(")
    while not cursor.take(")"):
        if found:
            cursor.expect(",")
        begin = cursor.index
        key = cursor.string("a key in single quotes")
        if key in found:
            cursor.fail(f"the option '{key}' is given twice", begin)
        cursor.expect("=")
        found[key] = cursor.string("a value in single quotes")
    return found


def option_keys(cursor: Cursor) -> tuple[Name, ...]:
    """``('key', ..)``."""
    return tuple(cursor.in_brackets(lambda: cursor.string("a key in single quotes")))


def names(cursor: Cursor) -> tuple[Name, ...]:
    """``(a, b, ..)``."""
    return tuple(cursor.in_brackets(lambda: cursor.name("a name of a column")))


def partition(cursor: Cursor) -> PartitionSpec:
    """``(a = 'x', b)`` after PARTITION."""
    return tuple(cursor.in_brackets(lambda: _partition_column(cursor)))


def _partition_column(cursor: Cursor) -> tuple[Name, nodes.Node | None]:
    name = cursor.name("a name of a partition column")
    return name, expressions.operand(cursor) if cursor.take("=") else None


def table_options(cursor: Cursor) -> Options:
    """What OPTIONS says in the hint after a table."""
    found = hints(cursor)
    calls = found.expressions if found else []
    return {key: value for call in calls if call.name == "OPTIONS" for key, value in hint_options(call).items()}


def written_expression(cursor: Cursor) -> Written:
    begin = cursor.index
    tree = expressions.expression(cursor)
    return Written(tree, cursor.span(begin).text)


def written_query(cursor: Cursor) -> Written:
    """A query. Brackets round the whole of it have no meaning.

    :raises SqlParseError: something else.
    """
    if not queries.starts(cursor):
        cursor.fail_expecting("a query (SELECT, VALUES, WITH or TABLE)")
    begin = cursor.index
    tree = queries.query(cursor)
    return Written(tree, cursor.span(begin).text)


# Columns


def schema(cursor: Cursor) -> Schema:
    """``( column, .., WATERMARK .., PRIMARY KEY .. )``.

    :raises SqlParseError: a name twice, two watermarks or two keys.
    """
    columns: list[Column] = []
    watermark: Watermark | None = None
    key: PrimaryKey | None = None
    cursor.expect("(")
    while not cursor.take(")"):
        if columns or watermark or key:
            cursor.expect(",")
        begin = cursor.index
        if at_watermark(cursor):
            if watermark:
                cursor.fail("a table has one watermark at most", begin)
            watermark = read_watermark(cursor)
        elif at_constraint(cursor):
            if key:
                cursor.fail("a table has one primary key at most", begin)
            key = constraint(cursor)
        else:
            if any(one.name == cursor.token.text for one in columns):
                cursor.fail(f"the column '{cursor.token.text}' is declared twice")
            one, of_column = column(cursor)
            columns.append(one)
            if of_column and key:
                cursor.fail("a table has one primary key at most", begin)
            key = of_column or key
    return Schema(tuple(columns), watermark, key)


def column(cursor: Cursor) -> tuple[Column, PrimaryKey | None]:
    """A column, and the key if it says PRIMARY KEY."""
    name = cursor.name("a name of a column")
    if cursor.take("AS"):
        return ComputedColumn(name, written_expression(cursor), comment(cursor)), None
    of_type = data_type(cursor)
    if cursor.take("METADATA"):
        key = cursor.string() if cursor.take("FROM") else None
        return MetadataColumn(name, of_type, key, cursor.take("VIRTUAL"), comment(cursor)), None
    primary = _primary_key_of_column(cursor, name)
    if cursor.at("UNIQUE"):
        cursor.fail("UNIQUE is not supported: only PRIMARY KEY .. NOT ENFORCED")
    remark = comment(cursor)
    return PhysicalColumn(name, of_type, remark), primary or _primary_key_of_column(cursor, name)


def _primary_key_of_column(cursor: Cursor, name: Name) -> PrimaryKey | None:
    if cursor.take("CONSTRAINT"):
        constraint_name = cursor.name("a name of the constraint")
        cursor.expect("PRIMARY", "KEY")
    elif cursor.take("PRIMARY", "KEY"):
        constraint_name = None
    else:
        return None
    _not_enforced(cursor)
    return PrimaryKey((name,), constraint_name)


def at_watermark(cursor: Cursor) -> bool:
    return cursor.at("WATERMARK", "FOR")


def read_watermark(cursor: Cursor) -> Watermark:
    cursor.expect("WATERMARK", "FOR")
    column_path = cursor.path("a name of a column")
    cursor.expect("AS")
    return Watermark(column_path, written_expression(cursor))


def at_constraint(cursor: Cursor) -> bool:
    return cursor.at("PRIMARY", "KEY") or cursor.at("CONSTRAINT") or cursor.at("UNIQUE", "(")


def constraint(cursor: Cursor) -> PrimaryKey:
    name = cursor.name("a name of the constraint") if cursor.take("CONSTRAINT") else None
    if cursor.at("UNIQUE"):
        cursor.fail("UNIQUE is not supported: only PRIMARY KEY .. NOT ENFORCED")
    cursor.expect("PRIMARY", "KEY")
    columns = names(cursor)
    _not_enforced(cursor)
    return PrimaryKey(columns, name)


def _not_enforced(cursor: Cursor) -> None:
    if not cursor.take("NOT", "ENFORCED"):
        cursor.fail_expecting("NOT ENFORCED after PRIMARY KEY: nothing checks the rows")


def only_physical(columns: Sequence[Column], cursor: Cursor, begin: int) -> tuple[PhysicalColumn, ...]:
    """Columns of a model, which are all plain."""
    plain = tuple(column for column in columns if isinstance(column, PhysicalColumn))
    if len(plain) != len(columns):
        cursor.fail("a model has plain columns only: name and type", begin)
    return plain


# CREATE TABLE

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


# CREATE and DROP

_KINDS = ("TABLE", "MATERIALIZED", "VIEW", "CATALOG", "DATABASE", "FUNCTION", "MODEL")
_MAY_BE_TEMPORARY = ("TABLE", "VIEW", "FUNCTION", "MODEL")


def create_statement(cursor: Cursor) -> Statement:
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
