"""Runs CREATE, CREATE TABLE ... LIKE, CREATE TABLE ... AS SELECT, and DROP; converts columns of DDL to those of
catalogs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from millrace.relational import types as t
from millrace.relational.nodes import Rel, Sink
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType, NullType
from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    Declared,
    DeclaredDistribution,
    DeclaredKey,
    DeclaredWatermark,
    Schema,
)
from millrace.table.functions.function_catalog import create_catalog, load_function
from millrace.table.sessions.table_info import described, sink_info, with_columns
from millrace.table.sessions.table_result import TableResult, done, plain
from millrace.table.sql import nodes
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.binding.insert import insert_plan
from millrace.table.sql.program_text import with_quoted_columns
from millrace.table.sql.text import Name, SqlValidationError
from millrace.table.sql.writing import written
from millrace.table.statement_runners.show import create_text
from millrace.table.values.program_errors import problem
from millrace.util.exceptions import CatalogException
from millrace.util.names import did_you_mean
from millrace.util.not_yet import not_yet

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


# Columns


def declared_column(column: s.Column) -> Declared:
    name = str(column.name)
    if isinstance(column, s.ComputedColumn):
        return Declared(name, expression=with_quoted_columns(column.expression.tree), comment=column.comment)
    if isinstance(column, s.MetadataColumn):
        key = column.key if column.key is not None else name
        return Declared(name, column.data_type, None, True, key, column.virtual, column.comment)
    return Declared(name, column.data_type, comment=column.comment)


def declared_watermark(watermark: s.Watermark) -> DeclaredWatermark:
    if len(watermark.column) > 1:
        raise problem(
            f"WATERMARK FOR {watermark.column}: a field of a row cannot be the time attribute: compute a column"
        )
    return DeclaredWatermark(str(watermark.column[0]), with_quoted_columns(watermark.expression.tree))


def declared_key(key: s.PrimaryKey) -> DeclaredKey:
    columns = tuple(map(str, key.columns))
    return DeclaredKey(key.name or f"PK_{'_'.join(columns)}", columns)


def declared_distribution(distribution: s.Distribution) -> DeclaredDistribution:
    return DeclaredDistribution(tuple(map(str, distribution.columns)), distribution.kind, distribution.buckets)


def check_names(names: Iterable[Name], schema: Schema, place: str) -> None:
    """
    :param place: where they stand, e.g. PARTITIONED BY.
    :raises SqlValidationError: one of them is no column.
    """
    known = [column.name for column in schema.columns]
    for name in names:
        if name not in known:
            raise SqlValidationError(f"{place}: there is no column '{name}'{did_you_mean(name, known)}", name.position)


def declared_schema(schema: s.Schema) -> Schema:
    """What CREATE TABLE says."""
    return Schema(
        [declared_column(column) for column in schema.columns],
        None if schema.watermark is None else declared_watermark(schema.watermark),
        None if schema.primary_key is None else declared_key(schema.primary_key),
    )


def checked(schema: Schema) -> Schema:
    """Return the schema if its names fit together.

    :raises TableException: a name is given twice, or a key or watermark names no column.
    """
    names = [column.name for column in schema.columns]
    for name in names:
        if names.count(name) > 1:
            raise problem(f"column '{name}' is there twice")
    used = list(schema.primary_key.columns) if schema.primary_key else []
    used += [schema.watermark.column] if schema.watermark else []
    for name in used:
        if name not in names:
            raise problem(f"there is no column '{name}'{did_you_mean(name, names)}")
    for column in schema.columns:
        try:
            arrow_type(column.type or NullType())
        except NotImplementedError as error:
            raise problem(f"column '{column.name}': {error}") from None
    physical = {column.name for column in schema.columns if column.expression is None and not column.metadata}
    for name in schema.primary_key.columns if schema.primary_key else ():
        if name not in physical:
            raise problem(f"the primary key has the column '{name}', which is computed or metadata")
    return schema


# LIKE

_EXCLUDING, _INCLUDING = "EXCLUDING", "INCLUDING"


def with_like(table: CatalogBaseTable, like: s.Like, session: Session) -> CatalogBaseTable:
    """The table with the parts of the source that its rules include.

    :raises TableException: INCLUDING, and both have the part.
    """
    source = session.catalogs.table(like.source).table
    own, other = table.get_unresolved_schema(), source.get_unresolved_schema()
    columns = _columns(own, other, like)
    watermark = own.watermark
    if other.watermark is not None and like.rule("WATERMARKS") != _EXCLUDING:
        if watermark is not None and like.rule("WATERMARKS") == _INCLUDING:
            raise problem(f"both tables have a WATERMARK: EXCLUDING or OVERWRITING WATERMARKS, LIKE {like.source}")
        watermark = watermark or other.watermark
    key = own.primary_key
    if other.primary_key is not None and like.rule("CONSTRAINTS") != _EXCLUDING:
        if key is not None:
            raise problem(f"both tables have a PRIMARY KEY: EXCLUDING CONSTRAINTS, LIKE {like.source}")
        key = other.primary_key
    keys = table.partition_keys
    if source.partition_keys and like.rule("PARTITIONS") != _EXCLUDING:
        if keys:
            raise problem(f"both tables are PARTITIONED BY columns: EXCLUDING PARTITIONS, LIKE {like.source}")
        keys = source.partition_keys
    distribution = table.distribution
    if source.distribution is not None and like.rule("DISTRIBUTION") != _EXCLUDING:
        if distribution is not None:
            raise problem(f"both tables are DISTRIBUTED: EXCLUDING DISTRIBUTION, LIKE {like.source}")
        distribution = source.distribution
    schema, options = Schema(columns, watermark, key), _options(table, source, like)
    return CatalogBaseTable(schema, options, keys, table.get_description(), distribution=distribution)


def _columns(own: Schema, other: Schema, like: s.Like) -> list[Declared]:
    found: dict[str, Declared] = {}
    for column in other.columns:
        part = "GENERATED" if column.expression is not None else "METADATA" if column.metadata else ""
        if not part or like.rule(part) != _EXCLUDING:
            found[column.name] = column
    for column in own.columns:
        part = "GENERATED" if column.expression is not None else "METADATA" if column.metadata else ""
        if column.name in found and (not part or like.rule(part) == _INCLUDING):
            raise problem(f"column '{column.name}' is in {like.source} already")
        found[column.name] = column
    return list(found.values())


def _options(table: CatalogBaseTable, source: CatalogBaseTable, like: s.Like) -> dict[str, str]:
    rule = like.rule("OPTIONS")
    if rule == _EXCLUDING:
        return table.get_options()
    both = sorted(table.get_options().keys() & source.get_options().keys())
    if both and rule == _INCLUDING:
        raise problem(f"both tables have the option '{both[0]}': EXCLUDING or OVERWRITING OPTIONS, LIKE {like.source}")
    return {**source.get_options(), **table.get_options()}


# CREATE


def plain_options(options: s.Options) -> dict[str, str]:
    return {str(key): str(value) for key, value in options.items()}


def described_table(statement: s.CreateTable, session: Session, schema: Schema) -> CatalogBaseTable:
    """The table of a statement, with what LIKE takes over."""
    table = CatalogBaseTable(
        schema,
        plain_options(statement.options),
        tuple(map(str, statement.partitioned_by)),
        statement.comment,
        distribution=None if statement.distribution is None else declared_distribution(statement.distribution),
    )
    if statement.like is not None:
        table = with_like(table, statement.like, session)
    if statement.query is None and session.reads_files and not table.get_unresolved_schema().columns:
        table = with_columns(session.catalogs.qualify(statement.path), table, session) or table
    schema, declared = table.get_unresolved_schema(), statement.schema
    if declared.primary_key is not None:
        check_names(declared.primary_key.columns, schema, "PRIMARY KEY")
    if declared.watermark is not None:
        check_names(declared.watermark.column[:1], schema, "WATERMARK")
    check_names(statement.partitioned_by, schema, "PARTITIONED BY")
    check_names(statement.distribution.columns if statement.distribution else (), schema, "DISTRIBUTED BY")
    checked(schema)
    # What is computed has to have a meaning.
    described(session.catalogs.qualify(statement.path), table, session)
    return table


def table(statement: s.CreateTable, session: Session) -> TableResult:
    declared = declared_schema(statement.schema)
    made = described_table(statement, session, declared)
    keep(statement, made, session)
    if declared.columns or statement.like is not None or not made.get_unresolved_schema().columns:
        return done()
    return plain(create_text("TABLE", statement.path, session))  # what was found out is shown


def keep(statement: s.CreateTable, made: CatalogBaseTable, session: Session) -> None:
    """Put a table into its catalog; with OR REPLACE it replaces an existing table."""
    manager = session.catalogs
    identifier = manager.qualify(statement.path)
    if statement.replace:
        there = manager.find_table(statement.path)
        if there is None and not statement.create:
            raise problem(f"there is no table {identifier} to be replaced: CREATE OR REPLACE TABLE makes one")
        if there is not None:
            manager.catalog(identifier.get_catalog_name()).drop_table(identifier.to_object_path(), True)
    manager.create_table(identifier, made, statement.if_not_exists, statement.temporary)


def view(statement: s.CreateView, session: Session) -> TableResult:
    plan = bind_query(statement.query.tree, session)
    names = [str(name) for name, _ in statement.columns] or plan.names
    if len(names) != len(plan.schema):
        raise problem(f"view {statement.path} names {len(names)} columns, and its query gives {len(plan.schema)}")
    schema = Schema.new_builder().from_fields(names, [column.type for column in plan.schema]).build()
    expanded = written(qualified(statement.query.tree, session))
    made = CatalogBaseTable(schema, {}, (), statement.comment, statement.query.text, expanded)
    identifier = session.catalogs.qualify(statement.path)
    session.catalogs.create_table(identifier, made, statement.if_not_exists, statement.temporary)
    return done()


def qualified(tree: nodes.Node, session: Session) -> nodes.Node:
    """The query with full names of tables: it means the same wherever it is used."""
    ctes = {cte.alias.name for cte in tree.find_all(nodes.CTE)}

    def qualify(part: nodes.Node) -> nodes.Node:
        part = part.rebuilt(qualify)
        if not isinstance(part, nodes.Table):
            return part
        path = nodes.table_path(part)
        if len(path) == 1 and path[0] in ctes:
            return part
        catalog, database, _ = session.catalogs.qualify(path).to_list()
        return replace(part, catalog=nodes.Identifier(catalog, True), db=nodes.Identifier(database, True))

    return qualify(tree)


def function(statement: s.CreateFunction, session: Session) -> TableResult:
    manager = session.catalogs
    made = CatalogFunction(statement.identifier, statement.language)
    if statement.temporary and statement.system:
        name = str(statement.path[-1]).lower()
        if name in manager.temporary_system_functions and not statement.if_not_exists:
            raise problem(f"there is a temporary system function {name} already")
        load_function(statement.identifier, statement.language)
        manager.temporary_system_functions.setdefault(name, made)
        return done()
    load_function(statement.identifier, statement.language)
    identifier = manager.qualify(statement.path)
    if not statement.temporary:
        catalog_ = manager.catalog(identifier.get_catalog_name())
        catalog_.create_function(identifier.to_object_path(), made, statement.if_not_exists)
    elif identifier not in manager.temporary_functions:
        manager.temporary_functions[identifier] = made
    elif not statement.if_not_exists:
        raise problem(f"there is a temporary function {identifier} already")
    return done()


def database(statement: s.CreateDatabase, session: Session) -> TableResult:
    *catalog_, name = map(str, statement.path)
    made = CatalogDatabase(plain_options(statement.options), statement.comment)
    where = session.catalogs.catalog(catalog_[0] if catalog_ else session.catalogs.current_catalog)
    where.create_database(name, made, statement.if_not_exists)
    return done()


def catalog(statement: s.CreateCatalog, session: Session) -> TableResult:
    manager, name = session.catalogs, str(statement.name)
    if manager.find_catalog(name) is None or not statement.if_not_exists:
        create_catalog(manager, name, plain_options(statement.options), statement.comment)
    return done()


def model(statement: s.CreateModel, session: Session) -> TableResult:
    manager = session.catalogs
    identifier = manager.qualify(statement.path)
    schemas = [Schema([declared_column(each) for each in part]) for part in (statement.inputs, statement.outputs)]
    made = CatalogModel(schemas[0], schemas[1], plain_options(statement.options), statement.comment)
    if statement.temporary:
        manager.temporary_models.setdefault(identifier, made)
    else:
        where = manager.catalog(identifier.get_catalog_name())
        where.create_model(identifier.to_object_path(), made, statement.if_not_exists)
    return done()


# AS SELECT


def create_table_as(statement: s.CreateTable, session: Session) -> TableResult:
    """Make a table with the columns of a query, and write the query's rows into it."""
    from millrace.table.sessions.session import sink_plan

    assert statement.query is not None
    plan = bind_query(statement.query.tree, session)
    if statement.if_not_exists and session.catalogs.find_table(statement.path) is not None:
        return done()
    made = described_table(statement, session, _schema(statement.schema, plan))
    keep(statement, made, session)
    path = session.catalogs.qualify(statement.path).as_serializable_string()
    return session.engine.execute([sink_plan(plan, path, session, False, plan.names)], session)


def plan_of_created(statement: s.CreateTable, session: Session) -> Sink:
    """What writes the rows of the query, without making the table."""
    assert statement.query is not None
    plan = bind_query(statement.query.tree, session)
    made = described_table(statement, session, _schema(statement.schema, plan))
    info = sink_info(session.catalogs.qualify(statement.path), made, {}, session)
    return insert_plan(plan, info, plan.names)


def _schema(declared: s.Schema, plan: Rel) -> Schema:
    """The columns of the statement, and those of the query that it does not name."""
    own = declared_schema(declared)
    if declared.order:
        missing = {str(name) for name in declared.order} ^ set(plan.names)
        if missing:
            raise problem(
                f"the names of the table are those of the query in another order; {', '.join(sorted(missing))}"
            )
        types = {column.name: column.type for column in plan.schema}
        columns = [Declared(str(name), _kept(types[str(name)])) for name in declared.order]
    else:
        columns = [Declared(column.name, _kept(column.type)) for column in plan.schema]
    names = {column.name for column in columns}
    given = {column.name: column for column in own.columns}
    merged = [given.get(column.name, column) for column in columns]
    return Schema([*(each for each in own.columns if each.name not in names), *merged], own.watermark, own.primary_key)


def _kept(data_type: DataType) -> DataType:
    """The type of a column for a constant's: text of any length."""
    if isinstance(data_type, t.NullType):
        raise problem("a column of the query is NULL only, so it has no type: CAST(NULL AS STRING), e.g.")
    return data_type


# DROP


def drop(statement: s.Drop, session: Session) -> TableResult:
    """Drop an object; a missing one is an error without IF EXISTS."""
    if statement.kind not in _DROPS:
        raise not_yet(f"DROP {statement.kind}", "DROP TABLE")
    _DROPS[statement.kind](statement, session)
    return done()


def _catalog(statement: s.Drop, session: Session) -> None:
    session.catalogs.unregister(str(statement.path[-1]), statement.if_exists)


def _database(statement: s.Drop, session: Session) -> None:
    manager = session.catalogs
    *catalog, name = map(str, statement.path)
    where = catalog[0] if catalog else manager.current_catalog
    if (where, name) == (manager.current_catalog, manager.current_database):
        raise CatalogException(f"database {name} is the current one: USE another first")
    manager.catalog(where).drop_database(name, statement.if_exists, statement.cascade)


def _table(statement: s.Drop, session: Session) -> None:
    manager, view = session.catalogs, statement.kind == "VIEW"
    identifier = manager.qualify(statement.path)
    if not statement.temporary:
        manager.drop_table(identifier, statement.if_exists, view)
    elif not manager.drop_temporary_table(identifier, view) and not statement.if_exists:
        raise problem(f"there is no temporary {statement.kind.lower()} {identifier}")


def _function(statement: s.Drop, session: Session) -> None:
    manager = session.catalogs
    if statement.temporary:
        if statement.system:
            gone = manager.temporary_system_functions.pop(str(statement.path[-1]).lower(), None)
        else:
            gone = manager.temporary_functions.pop(manager.qualify(statement.path), None)
        if gone is None and not statement.if_exists:
            raise problem(f"there is no temporary function {statement.path}")
        return
    identifier = manager.qualify(statement.path)
    catalog = manager.catalog(identifier.get_catalog_name())
    catalog.drop_function(identifier.to_object_path(), statement.if_exists)


def _model(statement: s.Drop, session: Session) -> None:
    manager = session.catalogs
    identifier = manager.qualify(statement.path)
    if not statement.temporary:
        manager.catalog(identifier.get_catalog_name()).drop_model(identifier.to_object_path(), statement.if_exists)
    elif manager.temporary_models.pop(identifier, None) is None and not statement.if_exists:
        raise problem(f"there is no temporary model {identifier}")


_DROPS = {
    "CATALOG": _catalog,
    "DATABASE": _database,
    "TABLE": _table,
    "VIEW": _table,
    "FUNCTION": _function,
    "MODEL": _model,
}
