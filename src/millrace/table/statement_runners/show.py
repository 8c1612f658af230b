"""Runs SHOW, and SHOW CREATE, which gives the statement that would make an object."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table.catalogs.objects import CatalogPartitionSpec, Declared, Schema, quoted
from millrace.table.sessions.table_result import TableResult, listing, plain, texts
from millrace.table.sql import statements as s
from millrace.table.sql.nodes import name_of
from millrace.table.statement_runners.describe import column_rows, model_of
from millrace.table.values.program_errors import problem
from millrace.util.not_yet import not_yet
from millrace.util.secrets import mask_options, mask_statement

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


# SHOW CREATE


def create_text(kind: str, path: Sequence[str], session: Session) -> str:
    if kind == "CATALOG":
        return _catalog(str(path[-1]), session)
    if kind == "MODEL":
        return _model(path, session)
    if kind not in ("TABLE", "VIEW"):
        raise not_yet(f"SHOW CREATE {kind}", "SHOW CREATE TABLE")
    found = session.catalogs.table(path)
    if found.table.is_view != (kind == "VIEW"):
        other = "VIEW" if found.table.is_view else "TABLE"
        raise problem(f"{found.identifier} is a {other.lower()}: SHOW CREATE {other}")
    temporary = "TEMPORARY " if found.temporary else ""
    head = f"CREATE {temporary}{kind} {found.identifier}"
    comment = found.table.get_description()
    said = [] if not comment else [f"COMMENT {_text(comment)}"]
    if kind == "VIEW":
        if found.table.plan is not None:
            raise problem(f"{found.identifier} is a view of a Table made in Python: it has no SQL")
        names = ",\n".join(f"  {quoted(each.name)}" for each in found.table.get_unresolved_schema().columns)
        return "\n".join([f"{head} (\n{names}\n)", *said, f"AS {mask_statement(found.table.expanded_query or '')}"])
    keys = found.table.partition_keys
    parts = [f"{head} (\n{_columns(found.table.get_unresolved_schema())}\n)", *said]
    parts += [] if found.table.distribution is None else [str(found.table.distribution)]
    parts += [f"PARTITIONED BY ({', '.join(map(quoted, keys))})"] if keys else []
    return "\n".join([*parts, f"WITH (\n{_options(found.table.get_options())}\n)", ""])


def _columns(schema: Schema) -> str:
    lines = [_column(column) for column in schema.columns]
    if schema.watermark is not None:
        lines.append(f"WATERMARK FOR {quoted(schema.watermark.column)} AS {schema.watermark.expression}")
    if schema.primary_key is not None:
        names = ", ".join(map(quoted, schema.primary_key.columns))
        lines.append(f"CONSTRAINT {quoted(schema.primary_key.name)} PRIMARY KEY ({names}) NOT ENFORCED")
    return ",\n".join(f"  {line}" for line in lines)


def _column(column: Declared) -> str:
    if column.expression is not None:
        text = f"{quoted(column.name)} AS {column.expression}"
    else:
        text = f"{quoted(column.name)} {column.type}"
    if column.metadata:
        text += " METADATA"
        text += f" FROM {_text(column.metadata_key)}" if column.metadata_key not in (None, column.name) else ""
        text += " VIRTUAL" if column.virtual else ""
    return text + (f" COMMENT {_text(column.comment)}" if column.comment else "")


def _model(path: Sequence[str], session: Session) -> str:
    identifier = session.catalogs.qualify(path)
    model = model_of(path, session)
    temporary = "TEMPORARY " if identifier in session.catalogs.temporary_models else ""
    said = [f"CREATE {temporary}MODEL {identifier}"]
    for word, schema in (("INPUT", model.get_input_schema()), ("OUTPUT", model.get_output_schema())):
        if schema is not None and schema.columns:
            said.append(f"{word} ({', '.join(map(_column, schema.columns))})")
    if model.get_description():
        said.append(f"COMMENT {_text(model.get_description())}")
    return "\n".join([*said, f"WITH (\n{_options(model.get_options())}\n)", ""])


def _catalog(name: str, session: Session) -> str:
    session.catalogs.catalog(name)
    options, comment = session.catalogs.descriptions.get(name, ({"type": "generic_in_memory"}, None))
    said = f"COMMENT {_text(comment)}\n" if comment else ""
    return f"CREATE CATALOG {quoted(name)}\n{said}WITH (\n{_options(options)}\n)\n"


def _options(options: Mapping[str, str]) -> str:
    return ",\n".join(f"  {_text(key)} = {_text(value)}" for key, value in mask_options(options).items())


def _text(value: str | None) -> str:
    escaped = (value or "").replace("'", "''")
    return f"'{escaped}'"


# SHOW

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
