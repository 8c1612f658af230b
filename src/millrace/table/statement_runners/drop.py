"""DROP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.table.not_yet import not_yet
from millrace.table.sessions.table_result import TableResult, done
from millrace.table.sql import statements as s
from millrace.table.values.problems import problem
from millrace.util.exceptions import CatalogException

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


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
