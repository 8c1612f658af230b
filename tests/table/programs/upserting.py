"""A program that writes into a table by primary key, without old rows: what stays there is the result."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from tests.table.programs.running import SECOND, Bound, Row, comparable, job_of

from millrace.common.types import RowKind
from millrace.connectors.tables.values_table import clear_values, results_of
from millrace.table.statement_runners.statements import insert_plans
from millrace.testing.local import LocalEngine


def upserted(made: Bound, key: tuple[int, ...], draw: random.Random, parallelism: int) -> Counter[Row]:
    """The rows that are left in a table with this primary key."""
    names = [f"c{place}" for place in range(len(made.plan.schema))]
    types = [column.type.with_nullable(place not in key) for place, column in enumerate(made.plan.schema)]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types))
    primary = ", ".join(names[place] for place in key)
    made.environment.execute_sql(
        f"CREATE TEMPORARY TABLE target ({columns}, PRIMARY KEY ({primary}) NOT ENFORCED) "
        "WITH ('connector' = 'values', 'sink-changelog-mode' = 'I,UA,D')"
    )
    clear_values()
    (plan,) = insert_plans(f"INSERT INTO target {made.program.sql}", made.environment._session)
    now = [0]
    for _ in LocalEngine(job_of(replace(made, plan=plan), draw, parallelism), lambda: now[0]).epochs():
        now[0] += SECOND
    made.environment.drop_temporary_table("target")
    table: dict[Row, Row] = {}
    for row in results_of("default_catalog.default_database.target"):
        values = comparable(row)
        place = tuple(values[at] for at in key)
        assert row.get_row_kind() is not RowKind.UPDATE_BEFORE
        if row.get_row_kind() is RowKind.DELETE:
            assert table.pop(place, None) is not None, f"{values} is deleted but is not there"
        else:
            table[place] = values
    return Counter(table.values())
