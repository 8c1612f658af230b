"""DESCRIBE."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.relational import types as t
from millrace.relational.nodes import Field, Rel, Schema
from millrace.table.catalogs.manager import FoundTable
from millrace.table.catalogs.objects import CatalogModel
from millrace.table.descriptions.schema import Declared
from millrace.table.not_yet import not_yet
from millrace.table.sessions.table_info import described
from millrace.table.sessions.table_result import TableResult, listing
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.values.problems import problem
from millrace.util.exceptions import TableException
from millrace.util.secrets import mask_options

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

_INFO = (Field("info name", t.string()), Field("info value", t.string()))


def describe(statement: s.Describe, session: Session) -> TableResult:
    if statement.kind == "TABLE":
        return listing(*column_rows(session.catalogs.table(statement.path), session))
    if statement.kind == "MODEL":
        return listing(_MODEL, _model_rows(model_of(statement.path, session)))
    if statement.kind not in _INFOS:
        raise not_yet(f"DESCRIBE {statement.kind}", "SHOW CREATE TABLE")
    return listing(_INFO, _INFOS[statement.kind](statement, session))


def describe_query(statement: s.DescribeQuery, session: Session) -> TableResult:
    """The columns that a query gives, as those of a table."""
    plan = bind_query(statement.tree, session)
    titles = (Field("name", t.string()), Field("type", t.string()), Field("null", t.BooleanType()))
    time = {field.name: f" *{field.time}*" if field.time else "" for field in plan.schema}
    rows = [(each.name, f"{each.type.sql()}{time[each.name]}", each.type.is_nullable) for each in plan.schema]
    return listing(titles, rows)


def _plan_of(found: FoundTable, session: Session) -> Rel:
    """That of a view knows which columns are time attributes; one that cannot be read has its columns all the same."""
    if found.table.is_view:
        with contextlib.suppress(TableException):
            info = session.table(tuple(found.identifier.to_list()), {})
            if info is not None:
                return info.plan
    return described(found.identifier, found.table, session)


def column_rows(found: FoundTable, session: Session) -> tuple[Schema, list[tuple[Any, ...]]]:
    """One row a column: name, type, whether it may be NULL, keys, what else is said, watermark."""
    declared = found.table.get_unresolved_schema()
    plan = found.table.plan
    if plan is None:
        plan = _plan_of(found, session)
    comments = any(column.comment for column in declared.columns)
    titles = [Field(name, t.string()) for name in ("name", "type", "null", "key", "extras", "watermark")]
    titles[2] = Field("null", t.BooleanType())
    titles += [Field("comment", t.string())] if comments else []
    rows = []
    for column in declared.columns:
        field = next(each for each in plan.schema if each.name == column.name)
        key = declared.primary_key
        keys = f"PRI({', '.join(key.columns)})" if key is not None and column.name in key.columns else None
        mark = declared.watermark
        watermark = str(mark.expression) if mark is not None and mark.column == column.name else None
        time = f" *{field.time}*" if field.time else ""
        row = (column.name, f"{field.type.sql()}{time}", field.type.is_nullable, keys, _extras(column), watermark)
        rows.append((*row, column.comment) if comments else row)
    return tuple(titles), rows


def _extras(column: Declared) -> str | None:
    if column.expression is not None:
        return f"AS {column.expression}"
    if not column.metadata:
        return None
    key = f" FROM '{column.metadata_key}'" if column.metadata_key not in (None, column.name) else ""
    return f"METADATA{key}{' VIRTUAL' if column.virtual else ''}"


_MODEL = (
    Field("name", t.string()),
    Field("type", t.string()),
    Field("null", t.BooleanType()),
    Field("is input", t.BooleanType()),
)


def model_of(path: Sequence[str], session: Session) -> CatalogModel:
    """A model by its name, a temporary one first.

    :raises CatalogException: there is none.
    """
    manager = session.catalogs
    identifier = manager.qualify(path)
    catalog = manager.catalog(identifier.get_catalog_name())
    return manager.temporary_models.get(identifier) or catalog.get_model(identifier.to_object_path())


def _model_rows(model: CatalogModel) -> list[tuple[Any, ...]]:
    schemas = ((model.get_input_schema(), True), (model.get_output_schema(), False))
    return [
        (column.name, column.type.sql(), column.type.is_nullable, is_input)
        for schema, is_input in schemas
        for column in (schema.columns if schema is not None else ())
        if column.type is not None
    ]


def _catalog(statement: s.Describe, session: Session) -> list[tuple[str, str]]:
    name = str(statement.path[-1])
    session.catalogs.catalog(name)
    options, comment = session.catalogs.descriptions.get(name, ({"type": "generic_in_memory"}, None))
    rows = [("name", name), ("type", options["type"]), ("comment", comment or "")]
    extended = [(f"option:{key}", value) for key, value in mask_options(options).items() if key != "type"]
    return rows + (extended if statement.extended else [])


def _database(statement: s.Describe, session: Session) -> list[tuple[str, str]]:
    *catalog, name = map(str, statement.path)
    where = catalog[0] if catalog else session.catalogs.current_catalog
    database = session.catalogs.catalog(where).get_database(name)
    rows = [("catalog", where), ("database", name), ("comment", database.get_comment())]
    return rows + ([("properties", str(mask_options(database.get_properties())))] if statement.extended else [])


def _function(statement: s.Describe, session: Session) -> list[tuple[str, str]]:
    found = session.functions.find(statement.path)
    if found is None:
        if str(statement.path[-1]).lower() in session.functions.list_all():
            return [("is system function", "true"), ("is temporary", "false")]
        raise problem(f"there is no function {statement.path}")
    wrapper, system = found
    return [
        ("is system function", str(system).lower()),
        ("function language", "PYTHON"),
        ("class name", wrapper.name),
        ("is deterministic", str(wrapper.deterministic).lower()),
    ]


_INFOS = {"CATALOG": _catalog, "DATABASE": _database, "FUNCTION": _function}
