"""SHOW."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table.catalogs.objects import CatalogPartitionSpec
from millrace.table.not_yet import not_yet
from millrace.table.sessions.table_result import TableResult, listing, plain, texts
from millrace.table.sql import statements as s
from millrace.table.sql.nodes import name_of
from millrace.table.statement_runners.describe import column_rows
from millrace.table.statement_runners.show_create import create_text
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

Names = Callable[[s.Show, "Session"], Iterable[str]]


def show(statement: s.Show, session: Session) -> TableResult:
    kind = statement.kind
    if kind in _LISTS:
        title, names = _LISTS[kind]
        return texts(title, [name for name in names(statement, session) if fits(name, statement.pattern)])
    if kind.startswith("CREATE "):
        return plain(create_text(kind.removeprefix("CREATE "), statement.path or (), session))
    if kind == "COLUMNS":
        columns, rows = column_rows(session.catalogs.table(statement.path or ()), session)
        return listing(columns, [row for row in rows if fits(str(row[0]), statement.pattern)])
    if kind == "FULL MODULES":
        entries = session.functions.list_full_modules()
        columns = (Field("module name", t.string()), Field("used", t.BooleanType()))
        return listing(columns, [(entry.name(), entry.used()) for entry in entries])
    raise not_yet(f"SHOW {kind}", "millrace info")


def _where(statement: s.Show, session: Session) -> tuple[str, str]:
    """Catalog and database that FROM or IN names."""
    *catalog, database = statement.path or (session.catalogs.current_database,)
    return (str(catalog[0]) if catalog else session.catalogs.current_catalog), str(database)


def _tables(statement: s.Show, session: Session) -> list[str]:
    return session.catalogs.list_tables(*_where(statement, session))


def _views(statement: s.Show, session: Session) -> list[str]:
    return session.catalogs.list_views(*_where(statement, session))


def _databases(statement: s.Show, session: Session) -> list[str]:
    name = str(statement.path[0]) if statement.path else session.catalogs.current_catalog
    return session.catalogs.catalog(name).list_databases()


def _materialized(statement: s.Show, session: Session) -> list[str]:
    catalog, database = _where(statement, session)
    return session.catalogs.catalog(catalog).list_materialized_tables(database)


def _procedures(statement: s.Show, session: Session) -> list[str]:
    catalog, database = _where(statement, session)
    return session.catalogs.catalog(catalog).list_procedures(database)


def _partitions(statement: s.Show, session: Session) -> list[str]:
    found = session.catalogs.table(statement.path or ())
    if found.temporary:
        raise problem(f"{found.identifier} is temporary: no catalog keeps its partitions")
    wanted = {str(name): name_of(value) for name, value in statement.partition if value is not None}
    catalog = session.catalogs.catalog(found.identifier.get_catalog_name())
    specs = catalog.list_partitions(found.identifier.to_object_path(), CatalogPartitionSpec(wanted) if wanted else None)
    keys = found.table.partition_keys
    return ["/".join(f"{key}={spec.get_partition_spec()[key]}" for key in keys) for spec in specs]


_LISTS: dict[str, tuple[str, Names]] = {
    "CATALOGS": ("catalog name", lambda statement, session: session.catalogs.catalogs()),
    "DATABASES": ("database name", _databases),
    "TABLES": ("table name", _tables),
    "VIEWS": ("view name", _views),
    "MATERIALIZED TABLES": ("materialized table", _materialized),
    "PARTITIONS": ("partition name", _partitions),
    "JARS": ("jars", lambda statement, session: session.streams._jars),
    "PROCEDURES": ("procedure name", _procedures),
    "FUNCTIONS": ("function name", lambda statement, session: session.functions.list_all()),
    "USER FUNCTIONS": ("function name", lambda statement, session: session.functions.list_user_defined()),
    "MODULES": ("module name", lambda statement, session: session.functions.list_modules()),
    "MODELS": ("model name", lambda statement, session: session.catalogs.list_models()),
    "CURRENT CATALOG": ("current catalog name", lambda statement, session: [session.catalogs.current_catalog]),
    "CURRENT DATABASE": ("current database name", lambda statement, session: [session.catalogs.current_database]),
}


def fits(name: str, pattern: s.Pattern | None) -> bool:
    """Whether a name is like the pattern of a SHOW; without one all are."""
    if pattern is None:
        return True
    parts = {"%": ".*", "_": "."}
    expression = "".join(parts.get(char, re.escape(char)) for char in pattern.text)
    flags = re.DOTALL | (re.IGNORECASE if pattern.ignore_case else 0)
    return (re.fullmatch(expression, name, flags) is not None) != pattern.negated
