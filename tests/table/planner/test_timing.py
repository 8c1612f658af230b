"""Whether something above a Top-N or a deduplication goes by its watermarks: its changes must not follow them."""

from __future__ import annotations

import pytest

from millrace.relational.rules.optimizer import optimise_streaming
from millrace.runtime.operators.specs import TableStep
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.table import TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.statement_runners.statements import insert_plans

TABLE = "money STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
NUMBERED = "(SELECT *, ROW_NUMBER() OVER (PARTITION BY money ORDER BY {}) AS r FROM offers) AS t"
BEST = f"SELECT money, rate FROM {NUMBERED.format('rate DESC')} WHERE r <= 2"
FIRST = f"SELECT money, rate, ts FROM {NUMBERED.format('ts')} WHERE r = 1"
ASKING = f"SELECT money, IF(CURRENT_WATERMARK(ts) > ts, 1, 2) FROM ({FIRST}) AS f"
JOINED = "SELECT o.money, r.rate FROM offers AS o JOIN best FOR SYSTEM_TIME AS OF o.ts AS r ON o.money = r.money"
EMITTED = "INSERT INTO sink "


def timely(environment: TableEnvironment, statement: str) -> list[bool]:
    """What the Top-N and deduplications of a statement are told."""
    session = environment._session
    into = statement.startswith(EMITTED)
    plans = insert_plans(statement, session) if into else [environment.sql_query(statement)._plan]
    program = session.streams._program.branch()
    around = surroundings_of(session)
    add_to_program([optimise_streaming(plan, around) for plan in plans], program, options_of(session))
    configs = [node.spec.config for node in program.added() if isinstance(node.spec, TableStep)]
    return [config.timely for config in configs if isinstance(config, (Deduplicate, Rank))]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (EMITTED + BEST, [False]),
        (EMITTED + f"SELECT money, SUM(rate) FROM ({FIRST}) AS f WHERE rate > 1 GROUP BY money", [False]),
        (EMITTED + ASKING, [True]),
        (BEST, [True]),  # the user's functions may ask for the watermark
        (JOINED, [True]),
        (EMITTED + JOINED, [True]),
    ],
)
def test_what_goes_by_watermarks(t_env: TableEnvironment, statement: str, expected: list[bool]) -> None:
    t_env.execute_sql(f"CREATE TABLE offers ({TABLE}) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TABLE sink (money STRING, rate INT) WITH ('connector' = 'blackhole')")
    t_env.execute_sql(f"CREATE VIEW best AS {FIRST}")
    assert timely(t_env, statement) == expected
