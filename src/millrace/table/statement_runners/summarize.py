"""SUMMARIZE: how many values each column has, how many different ones, the least, the greatest, the average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.common.types import RowKind
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.relational.type_table import Family, family_of
from millrace.table.catalogs.paths import quoted
from millrace.table.sessions.table_result import TableResult, listing
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.parser import parse_query
from millrace.table.sql.writing import written

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

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
    asked = ", ".join(["COUNT(*)", *(figure for column in columns for figure in _figures(column))])
    plan = bind_query(parse_query(f"SELECT {asked} FROM {source}"), session)
    with session.engine.execute([plan], session).collect() as rows:
        last: list[Any] = []
        for row in rows:  # a stream shows how they grow
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                last = list(row)
    total, figures = (last[0], last[1:]) if last else (0, [0, None, None, None, None] * len(columns))
    return listing(_TITLES, [_row(column, total, figures[_EACH * at :]) for at, column in enumerate(columns)])


def _figures(column: Field) -> list[str]:
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
