"""Plans built by hand, and what a streaming program makes of them, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from millrace.connectors.tables.values_table import results_of
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Ref, Rex
from millrace.relational.rows import INSERT, UPDATE_AFTER, Rows
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.relational.values import to_python
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.planner.plan import Options
from millrace.table.statement_runners.statements import insert_plans
from millrace.table.values.arrow_tables import remaining
from millrace.testing.local import run_locally

INT, BIGINT, STRING = t.IntType(), t.BigIntType(), t.string()


def table(rows: Sequence[tuple[Any, ...]], *types: t.DataType) -> n.Values:
    """A table with the columns a, b, c, ..."""
    return n.Values(tuple(n.Field(chr(97 + place), each) for place, each in enumerate(types)), tuple(rows))


def ref(plan: n.Rel, index: int) -> Ref:
    return Ref(plan.schema[index].type, index)


def project(plan: n.Rel, **columns: Rex) -> n.Project:
    fields = tuple(n.Field(name, each.type) for name, each in columns.items())
    return n.Project(plan, tuple(columns.values()), fields)


def insert(t_env: Any, *statements: str, epoch_records: int | None = None, parallelism: int = 2) -> list[str]:
    """Run INSERTs as one job; the names of its operators."""
    plans = [plan for statement in statements for plan in insert_plans(statement, t_env._session)]
    environment = StreamExecutionEnvironment()
    environment.set_parallelism(parallelism)
    surroundings = surroundings_of(t_env._session)
    add_to_program(
        [optimise_streaming(plan, surroundings) for plan in plans], environment._program, options_of(t_env._session)
    )
    names = [node.name for node in environment._program.added()]
    run_locally(environment, epoch_records=epoch_records)
    return names


def rows_of(table: str) -> list[tuple[Any, ...]]:
    """What a table of the connector ``values`` holds after all changes."""
    rows = remaining(results_of(f"default_catalog.default_database.{table}"))
    return sorted((tuple(row) for row in rows), key=repr)


def changelog(plan: n.Rel, parallelism: int = 2, epoch_records: int | None = None) -> list[tuple[int, tuple[Any, ...]]]:
    """The changes that a program of this plan gives: (kind, row)."""
    env = StreamExecutionEnvironment()
    env.set_parallelism(parallelism)
    plan = optimise_streaming(plan, Surroundings(1))
    add_to_program([plan], env._program, Options())
    types = [column.type for column in plan.schema]
    return [
        change for rows in run_locally(env, epoch_records=epoch_records).collected for change in _changes(rows, types)
    ]


def _changes(rows: Rows, types: Sequence[t.DataType]) -> list[tuple[int, tuple[Any, ...]]]:
    columns = [to_python(column, each) for column, each in zip(rows.columns, types)]
    return list(zip(rows.kind_values().tolist(), zip(*columns)))


def final(changes: Sequence[tuple[int, tuple[Any, ...]]]) -> Counter[tuple[Any, ...]]:
    """The table after all changes.

    :raises AssertionError: a row is taken back that is not there.
    """
    content: Counter[tuple[Any, ...]] = Counter()
    for kind, row in changes:
        content[row] += 1 if kind in (INSERT, UPDATE_AFTER) else -1
        assert content[row] >= 0, f"{row} was taken back too often"
    return +content
