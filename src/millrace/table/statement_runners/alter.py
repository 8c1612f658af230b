"""Runs ALTER of tables, views, databases, functions, catalogs and models. A column that the table itself uses cannot
be dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    Declared,
    DeclaredDistribution,
    ObjectIdentifier,
    Schema,
)
from millrace.table.functions.function_catalog import load_function
from millrace.table.sessions.table_info import described
from millrace.table.sessions.table_result import TableResult, done
from millrace.table.sql import nodes
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.grammar.parser import parse_expression
from millrace.table.sql.nodes import name_of
from millrace.table.sql.text import Name
from millrace.table.sql.writing import written
from millrace.table.statement_runners.create import (
    check_names,
    checked,
    declared_column,
    declared_distribution,
    declared_key,
    declared_watermark,
    plain_options,
    qualified,
)
from millrace.table.values.program_errors import problem
from millrace.util.names import did_you_mean
from millrace.util.not_yet import not_yet

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


# Uses of columns


def refuse_used(table: CatalogBaseTable, name: str, gone: frozenset[str] = frozenset()) -> None:
    """
    :param gone: columns that are dropped together with it.
    :raises TableException: something of the table needs the column.
    """
    for user in _users(table, name, gone):
        raise problem(f"column '{name}' is used by {user}")


def _users(table: CatalogBaseTable, name: str, gone: frozenset[str]) -> Iterator[str]:
    schema = table.get_unresolved_schema()
    for column in schema.columns:
        if column.name not in gone and _reads(column.expression, name):
            yield f"the computed column '{column.name}': change that one first"
    if schema.watermark is not None and (schema.watermark.column == name or _reads(schema.watermark.expression, name)):
        yield "the watermark: DROP WATERMARK first"
    if name in table.partition_keys:
        yield "PARTITIONED BY: the partitions of a table stay as they are"
    if table.distribution is not None and name in table.distribution.columns:
        yield "DISTRIBUTED BY: DROP DISTRIBUTION first"


def _reads(expression: object, name: str) -> bool:
    if not isinstance(expression, str):
        return False
    columns = parse_expression(expression).find_all(nodes.Column)
    return any(nodes.column_parts(column)[0].name == name for column in columns)


# Tables and views


def alter_table(statement: s.Alter, session: Session) -> None:
    manager = session.catalogs
    found = manager.find_table(statement.path)
    if found is None:
        if statement.if_exists:
            return
        found = manager.table(statement.path)
    catalog, path = manager.catalog(found.identifier.get_catalog_name()), found.identifier.to_object_path()
    change = statement.change
    if isinstance(change, s.Rename):
        if found.temporary:
            manager.temporary_tables[manager.qualify(change.to)] = manager.temporary_tables.pop(found.identifier)
        else:
            catalog.rename_table(path, str(change.to[-1]), False)
        return
    if isinstance(change, (s.AddPartitions, s.DropPartitions)):
        _partitions(change, found.identifier, session)
        return
    made = _changed_table(found.table, statement.path, change, session)
    if found.temporary:
        manager.temporary_tables[found.identifier] = made
    else:
        catalog.alter_table(path, made, False)


def _changed_table(table: CatalogBaseTable, path: Sequence[str], change: Any, session: Session) -> CatalogBaseTable:
    made = table.copy()
    if isinstance(change, s.SetOptions):
        made._options.update(plain_options(change.options))
    elif isinstance(change, s.ResetOptions):
        for key in map(str, change.keys):
            if key == "connector":
                raise problem("the option 'connector' cannot be reset: DROP the table")
            made._options.pop(key, None)
    elif isinstance(change, s.SetComment):
        made._comment = change.comment
    elif isinstance(change, s.SetQuery):
        plan = bind_query(change.query.tree, session)
        made._schema = Schema.new_builder().from_fields(plan.names, [column.type for column in plan.schema]).build()
        made._original_query = change.query.text
        made._expanded_query = written(qualified(change.query.tree, session))
    else:
        made._distribution = _distribution(table, change)
        made._schema = checked(_edited(table, change))
        check_names(_named(change), made._schema, "ALTER TABLE")
        described(session.catalogs.qualify(path), made, session)
    return made


def _edited(table: CatalogBaseTable, change: Any) -> Schema:
    edit = _EDITS.get(type(change))
    if edit is None:
        raise not_yet(f"ALTER TABLE ... {type(change).__name__}", "DROP TABLE and CREATE TABLE")
    schema = table.get_unresolved_schema()
    if isinstance(change, s.DropColumns):
        gone = frozenset(str(path[-1]) for path in change.columns)
        check_names([path[-1] for path in change.columns], schema, "DROP")
        for name in sorted(gone):
            refuse_used(table, name, gone)
            if schema.primary_key is not None and name in schema.primary_key.columns:
                raise problem(f"column '{name}' is used by the primary key: DROP PRIMARY KEY first")
    if isinstance(change, s.RenameColumn):
        check_names([change.column[-1]], schema, "RENAME")
        refuse_used(table, str(change.column[-1]))
    return edit(schema, change)


def _distribution(table: CatalogBaseTable, change: Any) -> DeclaredDistribution | None:
    """How the table is distributed after the change."""
    there = table.distribution
    if isinstance(change, s.DropPart) and change.part == "DISTRIBUTION":
        if there is None:
            raise problem("the table has no distribution")
        return None
    if isinstance(change, (s.Add, s.Modify)):
        for element in change.elements:
            if isinstance(element, s.Distribution):
                if there is not None and isinstance(change, s.Add):
                    raise problem(f"the table is {there}: MODIFY it")
                if there is None and isinstance(change, s.Modify):
                    raise problem("the table has no distribution: ADD one")
                return declared_distribution(element)
    return there


def _named(change: Any) -> list[Name]:
    """Columns that keys and buckets of a change name."""
    elements = change.elements if isinstance(change, (s.Add, s.Modify)) else ()
    return [name for each in elements if isinstance(each, (s.PrimaryKey, s.Distribution)) for name in each.columns]


def _add(schema: Schema, change: s.Add) -> Schema:
    for element in change.elements:
        if isinstance(element, s.PlacedColumn):
            if any(column.name == element.column.name for column in schema.columns):
                raise problem(f"column '{element.column.name}' is there already: ALTER TABLE ... MODIFY")
            schema = _placed(schema, element, len(schema.columns))
        else:
            schema = _with_part(schema, element, adding=True)
    return schema


def _modify(schema: Schema, change: s.Modify) -> Schema:
    for element in change.elements:
        if isinstance(element, s.PlacedColumn):
            at = _index(schema, str(element.column.name))
            rest = [column for index, column in enumerate(schema.columns) if index != at]
            schema = _placed(Schema(rest, schema.watermark, schema.primary_key), element, at)
        else:
            schema = _with_part(schema, element, adding=False)
    return schema


def _placed(schema: Schema, element: s.PlacedColumn, at: int) -> Schema:
    if element.first:
        at = 0
    elif element.after is not None:
        at = _index(schema, str(element.after)) + 1
    columns: list[Declared] = list(schema.columns)
    columns.insert(at, declared_column(element.column))
    return Schema(columns, schema.watermark, schema.primary_key)


def _with_part(schema: Schema, element: Any, adding: bool) -> Schema:
    if isinstance(element, s.Watermark):
        if (schema.watermark is None) != adding:
            raise problem("the table has a watermark: MODIFY it" if adding else "the table has no watermark: ADD one")
        return Schema(schema.columns, declared_watermark(element), schema.primary_key)
    if isinstance(element, s.PrimaryKey):
        if (schema.primary_key is None) != adding:
            raise problem(
                "the table has a primary key: MODIFY it" if adding else "the table has no primary key: ADD one"
            )
        return Schema(schema.columns, schema.watermark, declared_key(element))
    return schema


def _drop_columns(schema: Schema, change: s.DropColumns) -> Schema:
    gone = {_index(schema, str(path[-1])) for path in change.columns}
    kept = [column for index, column in enumerate(schema.columns) if index not in gone]
    if not kept:
        raise problem("a table has at least one column")
    return Schema(kept, schema.watermark, schema.primary_key)


def _drop_part(schema: Schema, change: s.DropPart) -> Schema:
    if change.part == "WATERMARK":
        return Schema(schema.columns, None, schema.primary_key)
    if change.part in ("PRIMARY KEY", "CONSTRAINT"):
        key = schema.primary_key
        if key is None or (change.name is not None and change.name != key.name):
            raise problem(f"the table has no constraint {change.name or 'PRIMARY KEY'}")
        return Schema(schema.columns, schema.watermark, None)
    return schema


def _rename_column(schema: Schema, change: s.RenameColumn) -> Schema:
    old, new = str(change.column[-1]), str(change.to)
    at = _index(schema, old)
    columns = [replace(column, name=new) if index == at else column for index, column in enumerate(schema.columns)]
    key = schema.primary_key
    if key is not None:
        key = replace(key, columns=tuple(new if name == old else name for name in key.columns))
    return Schema(columns, schema.watermark, key)


def _index(schema: Schema, name: str) -> int:
    names = [column.name for column in schema.columns]
    if name not in names:
        raise problem(f"there is no column '{name}'{did_you_mean(name, names)}")
    return names.index(name)


_EDITS: dict[type, Callable[[Schema, Any], Schema]] = {
    s.Add: _add,
    s.Modify: _modify,
    s.DropColumns: _drop_columns,
    s.DropPart: _drop_part,
    s.RenameColumn: _rename_column,
}


def _partitions(change: s.AddPartitions | s.DropPartitions, identifier: ObjectIdentifier, session: Session) -> None:
    catalog, path = session.catalogs.catalog(identifier.get_catalog_name()), identifier.to_object_path()
    if isinstance(change, s.DropPartitions):
        for spec in change.partitions:
            catalog.drop_partition(path, _spec(spec), change.if_exists)
        return
    for spec, options in change.partitions:
        catalog.create_partition(path, _spec(spec), CatalogPartition(plain_options(options)), change.if_not_exists)


def _spec(written: s.PartitionSpec) -> CatalogPartitionSpec:
    return CatalogPartitionSpec({str(name): name_of(value) for name, value in written if value is not None})


# Other objects


def alter(statement: s.Alter, session: Session) -> TableResult:
    """ALTER of any kind."""
    change = statement.change
    if statement.kind in ("TABLE", "VIEW"):
        alter_table(statement, session)
    elif statement.kind == "DATABASE" and isinstance(change, s.SetOptions):
        _database(statement, change, session)
    elif statement.kind == "FUNCTION" and isinstance(change, s.SetFunction):
        _function(statement, change, session)
    elif statement.kind == "CATALOG" and isinstance(change, (s.SetOptions, s.ResetOptions, s.SetComment)):
        _catalog(statement, change, session)
    elif statement.kind == "MODEL" and isinstance(change, (s.SetOptions, s.ResetOptions, s.Rename)):
        _model(statement, change, session)
    else:
        raise not_yet(f"ALTER {statement.kind} ... {type(change).__name__}", "DROP and CREATE")
    return done()


def _database(statement: s.Alter, change: s.SetOptions, session: Session) -> None:
    *catalog, name = map(str, statement.path)
    where = session.catalogs.catalog(catalog[0] if catalog else session.catalogs.current_catalog)
    old = where.get_database(name)
    made = CatalogDatabase({**old.get_properties(), **plain_options(change.options)}, old.get_description())
    where.alter_database(name, made, statement.if_exists)


def _function(statement: s.Alter, change: s.SetFunction, session: Session) -> None:
    manager = session.catalogs
    made = CatalogFunction(change.identifier, change.language)
    load_function(change.identifier, change.language)
    if change.system:
        key = str(statement.path[-1]).lower()
        known = key in manager.temporary_system_functions
        if known:
            manager.temporary_system_functions[key] = made
    elif change.temporary:
        identifier = manager.qualify(statement.path)
        known = identifier in manager.temporary_functions
        if known:
            manager.temporary_functions[identifier] = made
    else:
        identifier = manager.qualify(statement.path)
        catalog = manager.catalog(identifier.get_catalog_name())
        catalog.alter_function(identifier.to_object_path(), made, statement.if_exists)
        return
    if not known and not statement.if_exists:
        hint = did_you_mean(str(statement.path[-1]), session.functions.list_user_defined())
        raise problem(f"there is no temporary function {statement.path}{hint}")


def _catalog(statement: s.Alter, change: s.SetOptions | s.ResetOptions | s.SetComment, session: Session) -> None:
    """What SHOW CREATE CATALOG says; a catalog that is there goes on as it is."""
    manager, name = session.catalogs, str(statement.path[-1])
    manager.catalog(name)
    options, comment = manager.descriptions.get(name, ({"type": "generic_in_memory"}, None))
    if isinstance(change, s.SetComment):
        comment = change.comment
    else:
        if "type" in (plain_options(change.options) if isinstance(change, s.SetOptions) else change.keys):
            raise problem("the option 'type' of a catalog stays as it is: DROP CATALOG and CREATE CATALOG")
        options = _changed_options(options, change)
    manager.descriptions[name] = (options, comment)


def _changed_options(options: Mapping[str, str], change: s.SetOptions | s.ResetOptions) -> dict[str, str]:
    """Options as SET and RESET leave them."""
    if isinstance(change, s.SetOptions):
        return {**options, **plain_options(change.options)}
    return {key: value for key, value in options.items() if key not in change.keys}


def _model(statement: s.Alter, change: s.SetOptions | s.ResetOptions | s.Rename, session: Session) -> None:
    manager = session.catalogs
    identifier = manager.qualify(statement.path)
    catalog, path = manager.catalog(identifier.get_catalog_name()), identifier.to_object_path()
    if isinstance(change, s.Rename):
        catalog.rename_model(path, str(change.to[-1]), statement.if_exists)
        return
    if statement.if_exists and not catalog.model_exists(path):
        return
    old = catalog.get_model(path)
    options = _changed_options(old.get_options(), change)
    made = CatalogModel(old.get_input_schema(), old.get_output_schema(), options, old.get_description())
    catalog.alter_model(path, made, False)
