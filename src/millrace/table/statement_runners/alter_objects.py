"""ALTER of what is no table: databases, functions, catalogs, models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from millrace.table.catalogs.objects import CatalogDatabase, CatalogFunction, CatalogModel
from millrace.table.not_yet import not_yet
from millrace.table.sessions.functions_by_name import load_function
from millrace.table.sessions.table_result import TableResult, done
from millrace.table.sql import statements as s
from millrace.table.statement_runners.alter import alter_table
from millrace.table.statement_runners.create import plain_options
from millrace.table.values.problems import did_you_mean, problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


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


def _catalog(
    statement: s.Alter, change: s.SetOptions | s.ResetOptions | s.SetComment, session: Session
) -> None:
    """What SHOW CREATE CATALOG says; a catalog that is there goes on as it is."""
    manager, name = session.catalogs, str(statement.path[-1])
    manager.catalog(name)
    options, comment = manager.descriptions.get(name, ({"type": "generic_in_memory"}, None))
    if isinstance(change, s.SetComment):
        comment = change.comment
    else:
        if "type" in (plain_options(change.options) if isinstance(change, s.SetOptions) else change.keys):
            raise problem("the option 'type' of a catalog stays as it is: DROP CATALOG and CREATE CATALOG")
        options = _changed(options, change)
    manager.descriptions[name] = (options, comment)


def _changed(options: Mapping[str, str], change: s.SetOptions | s.ResetOptions) -> dict[str, str]:
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
    options = _changed(old.get_options(), change)
    made = CatalogModel(old.get_input_schema(), old.get_output_schema(), options, old.get_description())
    catalog.alter_model(path, made, False)
