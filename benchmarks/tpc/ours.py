"""The queries in Millrace's batch mode."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.tpc.answers import Row
from benchmarks.tpc.data import Workload
from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.relational.types import DecimalType
from millrace.table import EnvironmentSettings, Table, TableEnvironment


@dataclass(frozen=True)
class Answer:
    """What a query gives, and what it takes."""

    rows: list[Row]
    seconds: float
    scales: Sequence[int | None]
    """of columns that are DECIMAL"""
    order: Sequence[int]
    """the columns that ORDER BY names"""


def session_with(workload: Workload) -> TableEnvironment:
    """A session that knows the tables."""
    session = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    session.get_config().set("parallelism.default", "2")
    session.get_config().set_local_timezone("UTC")
    for statement in workload.ddl():
        session.execute_sql(statement)
    return session


def answer(session: TableEnvironment, text: str) -> Answer:
    """Run a query from its text to its last row."""
    begin = time.perf_counter()
    with session.execute_sql(text).collect() as found:
        rows = [tuple(row) for row in found]
    seconds = time.perf_counter() - begin
    table = session.sql_query(text)
    return Answer(rows, seconds, _scales(table), _order(table._plan))


def _scales(table: Table) -> list[int | None]:
    return [field.type.scale if isinstance(field.type, DecimalType) else None for field in table._plan.schema]


def _order(plan: n.Rel) -> list[int]:
    """The columns of a result that ORDER BY names, the first of them, up to one that the result does not have."""
    if isinstance(plan, n.Project):
        shown = {each.index: at for at, each in enumerate(plan.expressions) if isinstance(each, Ref)}
        plan = plan.input
    else:
        shown = {at: at for at in range(len(plan.schema))}
    found: list[int] = []
    for key in plan.keys if isinstance(plan, n.Sort) else ():
        if not isinstance(key.expression, Ref) or key.expression.index not in shown:
            break
        found.append(shown[key.expression.index])
    return found
