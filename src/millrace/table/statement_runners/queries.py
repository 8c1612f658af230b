"""CREATE TABLE ... AS SELECT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.relational import types as t
from millrace.relational.nodes import Rel, Sink
from millrace.relational.types import DataType
from millrace.table.descriptions.schema import Declared, Schema
from millrace.table.sessions.table_info import sink_info
from millrace.table.sessions.table_result import TableResult, done
from millrace.table.sql import statements as s
from millrace.table.sql.binding import bind_query
from millrace.table.sql.binding.queries.insert import insert_plan
from millrace.table.statement_runners.create import described_table, keep
from millrace.table.statement_runners.schemas import declared_schema
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


def create_table_as(statement: s.CreateTable, session: Session) -> TableResult:
    """Make a table with the columns of a query, and write the query's rows into it."""
    from millrace.table.sessions.sink_plans import sink_plan

    assert statement.query is not None
    plan = bind_query(statement.query.tree, session)
    if statement.if_not_exists and session.catalogs.find_table(statement.path) is not None:
        return done()
    made = described_table(statement, session, _schema(statement.schema, plan))
    keep(statement, made, session)
    path = session.catalogs.qualify(statement.path).as_serializable_string()
    return session.engine.execute([sink_plan(plan, path, session, False, plan.names)], session)


def plan_of_created(statement: s.CreateTable, session: Session) -> Sink:
    """What writes the rows of the query, without making the table."""
    assert statement.query is not None
    plan = bind_query(statement.query.tree, session)
    made = described_table(statement, session, _schema(statement.schema, plan))
    info = sink_info(session.catalogs.qualify(statement.path), made, {}, session)
    return insert_plan(plan, info, plan.names)


def _schema(declared: s.Schema, plan: Rel) -> Schema:
    """The columns of the statement, and those of the query that it does not name."""
    own = declared_schema(declared)
    if declared.order:
        missing = {str(name) for name in declared.order} ^ set(plan.names)
        if missing:
            raise problem(
                f"the names of the table are those of the query in another order; {', '.join(sorted(missing))}"
            )
        types = {column.name: column.type for column in plan.schema}
        columns = [Declared(str(name), _kept(types[str(name)])) for name in declared.order]
    else:
        columns = [Declared(column.name, _kept(column.type)) for column in plan.schema]
    names = {column.name for column in columns}
    given = {column.name: column for column in own.columns}
    merged = [given.get(column.name, column) for column in columns]
    return Schema([*(each for each in own.columns if each.name not in names), *merged], own.watermark, own.primary_key)


def _kept(data_type: DataType) -> DataType:
    """The type of a column for a constant's: text of any length."""
    if isinstance(data_type, t.NullType):
        raise problem("a column of the query is NULL only, so it has no type: CAST(NULL AS STRING), e.g.")
    return data_type
