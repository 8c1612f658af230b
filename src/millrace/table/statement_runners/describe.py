"""Runs DESCRIBE, SUMMARIZE (for each column: the number of values and of different values, minimum, maximum,
average) and ANALYZE TABLE (counts a table's rows, and stores the figures in its catalog)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.types import RowKind
from millrace.relational import types as t
from millrace.relational.nodes import Field, Rel, Schema
from millrace.relational.type_table import Family, family_of
from millrace.table.catalogs.objects import (
    CatalogColumnStatistics,
    CatalogModel,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    Declared,
    quoted,
)
from millrace.table.functions.function_catalog import FoundTable
from millrace.table.sessions.table_info import described, table_context
from millrace.table.sessions.table_result import TableResult, done, listing
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.grammar.parser import parse_query
from millrace.table.sql.nodes import name_of
from millrace.table.sql.writing import written
from millrace.table.values.program_errors import problem
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean
from millrace.util.not_yet import not_yet
from millrace.util.secrets import mask_options

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


# DESCRIBE

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
    """The plan of a table or view. A view is bound, since only its plan knows which columns are time attributes; if
    that fails, its declared columns are used."""
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


# SUMMARIZE

_NUMBERS = (Family.INTEGER, Family.DECIMAL, Family.APPROXIMATE)
_COMPARED = (*_NUMBERS, Family.TEXT, Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT)
"""kinds of values that have a least and a greatest one"""
_TITLES = (
    *(Field(name, t.string()) for name in ("column", "type")),
    *(Field(name, t.BigIntType()) for name in ("rows", "nulls", "distinct")),
    *(Field(name, t.string()) for name in ("min", "max")),
    Field("avg", t.DoubleType()),
)
_EACH = 5
"""figures of a column"""


def summarize(statement: s.Summarize, session: Session) -> TableResult:
    """One row a column. All rows are read, so in streaming mode the table has to have an end."""
    source = written(statement.relation)
    columns = bind_query(parse_query(f"SELECT * FROM {source}"), session).schema
    asked = ", ".join(["COUNT(*)", *(figure for column in columns for figure in _column_figures(column))])
    plan = bind_query(parse_query(f"SELECT {asked} FROM {source}"), session)
    with session.engine.execute([plan], session).collect() as rows:
        last: list[Any] = []
        for row in rows:  # a stream shows how they grow
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                last = list(row)
    total, figures = (last[0], last[1:]) if last else (0, [0, None, None, None, None] * len(columns))
    return listing(_TITLES, [_row(column, total, figures[_EACH * at :]) for at, column in enumerate(columns)])


def _column_figures(column: Field) -> list[str]:
    name, family = quoted(column.name), family_of(column.type)
    ordered, number = family in _COMPARED, family in _NUMBERS
    return [
        f"COUNT({name})",
        f"COUNT(DISTINCT {name})" if ordered or family is Family.BOOLEAN else "CAST(NULL AS BIGINT)",
        f"CAST(MIN({name}) AS STRING)" if ordered else "CAST(NULL AS STRING)",
        f"CAST(MAX({name}) AS STRING)" if ordered else "CAST(NULL AS STRING)",
        f"AVG(CAST({name} AS DOUBLE))" if number else "CAST(NULL AS DOUBLE)",
    ]


def _row(column: Field, total: int, figures: list[Any]) -> tuple[Any, ...]:
    known, distinct, least, greatest, average = figures[:_EACH]
    return column.name, column.type.sql(), total, total - known, distinct, least, greatest, average


# ANALYZE TABLE

_ORDERED = (
    *(Family.INTEGER, Family.DECIMAL, Family.APPROXIMATE, Family.TEXT),
    *(Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT),
)
"""kinds of values that have a smallest and a largest one"""


def analyze(statement: s.Analyze, session: Session) -> TableResult:
    """Count rows, and the values of columns.

    :raises TableException: streaming mode, a view or a temporary table, or columns and partitions that it has not.
    """
    if session.streaming:
        raise problem("ANALYZE TABLE is for batch mode: EnvironmentSettings.in_batch_mode()")
    found = session.catalogs.table(statement.path)
    name = found.identifier.as_summary_string()
    if found.table.is_view or found.temporary:
        raise problem(f"{name} is {'a view' if found.table.is_view else 'temporary'}: no catalog keeps its statistics")
    keys = _partition(statement, found)
    columns = _columns(statement, found, session)
    kept = _CatalogStatistics(found, session)
    counted = _counted(found, keys, columns, statement, session)
    for values, rows, facts in counted:
        kept.keep(dict(zip(keys, values)), rows, facts)
    if keys and all(value is None for _, value in statement.partition):
        kept.keep({}, sum(rows for _, rows, _ in counted), {})
    return done()


class _CatalogStatistics:
    """The catalog of a table, as the place of figures."""

    def __init__(self, found: FoundTable, session: Session) -> None:
        self._catalog = session.catalogs.catalog(found.identifier.get_catalog_name())
        self._path = found.identifier.to_object_path()

    def keep(self, partition: dict[str, str], rows: int, facts: dict[str, Any]) -> None:
        counted, columns = CatalogTableStatistics(rows), CatalogColumnStatistics(facts)
        if not partition:
            self._catalog.alter_table_statistics(self._path, counted, False)
            if facts:
                self._catalog.alter_table_column_statistics(self._path, columns, False)
            return
        spec = CatalogPartitionSpec(partition)
        self._catalog.alter_partition_statistics(self._path, spec, counted, False)
        if facts:
            self._catalog.alter_partition_column_statistics(self._path, spec, columns, False)


def _partition(statement: s.Analyze, found: FoundTable) -> tuple[str, ...]:
    keys, named = tuple(found.table.partition_keys), [str(name) for name, _ in statement.partition]
    table = found.identifier.as_summary_string()
    if not keys and named:
        raise problem(f"{table} has no partitions")
    if sorted(keys) != sorted(named):
        raise problem(f"{table} is partitioned: name all of its columns, PARTITION ({', '.join(keys)})")
    return keys


def _columns(statement: s.Analyze, found: FoundTable, session: Session) -> list[tuple[str, bool, bool]]:
    """(name, whether it has an order, whether it is text) of the columns that are to be counted."""
    stored = {each.name: each for each in table_context(found.identifier, found.table, {}, session).columns}
    wanted = list(stored) if statement.all_columns else [str(name) for name in statement.columns]
    for name in wanted:
        if name not in stored:
            table = found.identifier.as_summary_string()
            raise problem(f"{table} has no stored column '{name}'{did_you_mean(name, stored)}")
    families = {name: family_of(stored[name].type) for name in wanted}
    return [(name, family in _ORDERED, family is Family.TEXT) for name, family in families.items()]


def _counted(
    found: FoundTable,
    keys: tuple[str, ...],
    columns: list[tuple[str, bool, bool]],
    statement: s.Analyze,
    session: Session,
) -> list[tuple[list[str], int, dict[str, Any]]]:
    """(values of the partition, rows, figures of the columns) of each partition; of the whole table without any."""
    asked = [*(f"CAST({quoted(key)} AS STRING)" for key in keys), "COUNT(*)"]
    for name, ordered, text in columns:
        column = quoted(name)
        asked.append(f"COUNT({column})")
        asked += [f"COUNT(DISTINCT {column})", f"MIN({column})", f"MAX({column})"] if ordered else ["0", "0", "0"]
        asked.append(f"AVG(CAST(CHAR_LENGTH({column}) AS DOUBLE))" if text else "0")
    wanted = [
        f"CAST({quoted(str(key))} AS STRING) = '{name_of(value)}'"
        for key, value in statement.partition
        if value is not None
    ]
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    group = f" GROUP BY {', '.join(map(quoted, keys))}" if keys else ""
    table = ".".join(map(quoted, found.identifier.to_list()))
    plan = bind_query(parse_query(f"SELECT {', '.join(asked)} FROM {table}{where}{group}"), session)
    with session.engine.execute([plan], session).collect() as rows:
        return [_table_figures(list(row), len(keys), columns) for row in rows]


def _table_figures(
    row: list[Any], keys: int, columns: list[tuple[str, bool, bool]]
) -> tuple[list[str], int, dict[str, Any]]:
    values, total, rest = row[:keys], row[keys], row[keys + 1 :]
    facts = {}
    for at, (name, ordered, text) in enumerate(columns):
        known, distinct, least, greatest, length = rest[5 * at : 5 * at + 5]
        facts[name] = {
            "nulls": total - known,
            "distinct": distinct if ordered else None,
            "least": None if not ordered or least is None else str(least),
            "greatest": None if not ordered or greatest is None else str(greatest),
            "average_length": length if text else None,
        }
    return [str(value) for value in values], total, facts
