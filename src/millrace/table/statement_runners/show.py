"""SHOW."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table.catalogs.objects import CatalogPartitionSpec
from millrace.table.not_yet import not_yet
from millrace.table.queries.problems import problem
from millrace.table.sql import statements as s
from millrace.table.statement_runners.describe import column_rows
from millrace.table.statement_runners.show_create import create_text
from millrace.table.table_result import TableResult, listing, plain, texts

if TYPE_CHECKING:
    from millrace.table.sessions.environment import TableEnvironment

Names = Callable[[s.Show, "TableEnvironment"], Iterable[str]]


def show(statement: s.Show, environment: TableEnvironment) -> TableResult:
    kind = statement.kind
    if kind in _LISTS:
        title, names = _LISTS[kind]
        return texts(title, [name for name in names(statement, environment) if _fits(name, statement.pattern)])
    if kind.startswith("CREATE "):
        return plain(create_text(kind.removeprefix("CREATE "), statement.path or (), environment))
    if kind == "COLUMNS":
        columns, rows = column_rows(environment._catalogs.table(statement.path or ()), environment)
        return listing(columns, [row for row in rows if _fits(str(row[0]), statement.pattern)])
    if kind == "FULL MODULES":
        entries = environment.list_full_modules()
        columns = (Field("module name", t.string()), Field("used", t.BooleanType()))
        return listing(columns, [(entry.name(), entry.used()) for entry in entries])
    raise not_yet(f"SHOW {kind}", "millrace info for jobs, add_python_file() for JARs")


def _where(statement: s.Show, environment: TableEnvironment) -> tuple[str, str]:
    """Catalog and database that FROM or IN names."""
    *catalog, database = statement.path or (environment.get_current_database(),)
    return (str(catalog[0]) if catalog else environment.get_current_catalog()), str(database)


def _tables(statement: s.Show, environment: TableEnvironment) -> list[str]:
    where = _where(statement, environment)
    views = set(environment._catalogs.list_views(*where))
    return [name for name in environment._catalogs.list_tables(*where) if name not in views or statement.path is None]


def _views(statement: s.Show, environment: TableEnvironment) -> list[str]:
    return environment._catalogs.list_views(*_where(statement, environment))


def _databases(statement: s.Show, environment: TableEnvironment) -> list[str]:
    name = str(statement.path[0]) if statement.path else environment.get_current_catalog()
    return environment._catalogs.catalog(name).list_databases()


def _materialized(statement: s.Show, environment: TableEnvironment) -> list[str]:
    catalog, database = _where(statement, environment)
    return environment._catalogs.catalog(catalog).list_materialized_tables(database)


def _procedures(statement: s.Show, environment: TableEnvironment) -> list[str]:
    catalog, database = _where(statement, environment)
    return environment._catalogs.catalog(catalog).list_procedures(database)


def _partitions(statement: s.Show, environment: TableEnvironment) -> list[str]:
    found = environment._catalogs.table(statement.path or ())
    if found.temporary:
        raise problem(f"{found.identifier} is temporary: no catalog keeps its partitions")
    wanted = {str(name): str(value.name) for name, value in statement.partition if value is not None}
    catalog = environment._catalogs.catalog(found.identifier.get_catalog_name())
    specs = catalog.list_partitions(found.identifier.to_object_path(), CatalogPartitionSpec(wanted) if wanted else None)
    keys = found.table.partition_keys
    return ["/".join(f"{key}={spec.get_partition_spec()[key]}" for key in keys) for spec in specs]


_LISTS: dict[str, tuple[str, Names]] = {
    "CATALOGS": ("catalog name", lambda statement, environment: environment.list_catalogs()),
    "DATABASES": ("database name", _databases),
    "TABLES": ("table name", _tables),
    "VIEWS": ("view name", _views),
    "MATERIALIZED TABLES": ("materialized table name", _materialized),
    "PARTITIONS": ("partition name", _partitions),
    "PROCEDURES": ("procedure name", _procedures),
    "FUNCTIONS": ("function name", lambda statement, environment: environment.list_functions()),
    "USER FUNCTIONS": ("function name", lambda statement, environment: environment.list_user_defined_functions()),
    "MODULES": ("module name", lambda statement, environment: environment.list_modules()),
    "MODELS": ("model name", lambda statement, environment: environment.list_models()),
    "CURRENT CATALOG": ("current catalog name", lambda statement, environment: [environment.get_current_catalog()]),
    "CURRENT DATABASE": ("current database name", lambda statement, environment: [environment.get_current_database()]),
}


def _fits(name: str, pattern: s.Pattern | None) -> bool:
    if pattern is None:
        return True
    parts = {"%": ".*", "_": "."}
    expression = "".join(parts.get(char, re.escape(char)) for char in pattern.text)
    flags = re.DOTALL | (re.IGNORECASE if pattern.ignore_case else 0)
    return (re.fullmatch(expression, name, flags) is not None) != pattern.negated
