"""ANALYZE TABLE: a table is counted, and its catalog keeps the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.relational.type_table import Family, family_of
from millrace.table.catalogs.manager import FoundTable
from millrace.table.catalogs.objects import CatalogColumnStatistics, CatalogPartitionSpec, CatalogTableStatistics
from millrace.table.catalogs.paths import quoted
from millrace.table.sessions.table_info import table_context
from millrace.table.sessions.table_result import TableResult, done
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.nodes import name_of
from millrace.table.sql.parser import parse_query
from millrace.table.values.problems import did_you_mean, problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

_COMPARED = (
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
    kept = _Kept(found, session)
    counted = _counted(found, keys, columns, statement, session)
    for values, rows, facts in counted:
        kept.keep(dict(zip(keys, values)), rows, facts)
    if keys and all(value is None for _, value in statement.partition):
        kept.keep({}, sum(rows for _, rows, _ in counted), {})
    return done()


class _Kept:
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
    return [(name, family in _COMPARED, family is Family.TEXT) for name, family in families.items()]


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
        return [_figures(list(row), len(keys), columns) for row in rows]


def _figures(row: list[Any], keys: int, columns: list[tuple[str, bool, bool]]) -> tuple[list[str], int, dict[str, Any]]:
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
