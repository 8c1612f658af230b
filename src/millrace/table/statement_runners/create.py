"""CREATE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millrace.table.catalogs.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction, CatalogModel
from millrace.table.descriptions.schema import Schema
from millrace.table.sessions.created_catalogs import create_catalog
from millrace.table.sessions.functions_by_name import load_function
from millrace.table.sessions.inferring import with_columns
from millrace.table.sessions.table_info import described
from millrace.table.sessions.table_result import TableResult, done, plain
from millrace.table.sql import nodes
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.writing import written
from millrace.table.statement_runners.like import with_like
from millrace.table.statement_runners.schemas import (
    check_names,
    checked,
    declared_column,
    declared_distribution,
    declared_schema,
)
from millrace.table.statement_runners.show_create import create_text
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


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
    """Put a table into its catalog; OR REPLACE takes the place of one that is there."""
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
