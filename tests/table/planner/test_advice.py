"""PLAN_ADVICE."""

from __future__ import annotations

import pytest

from millrace.table import EnvironmentSettings, ExplainDetail, TableEnvironment

ENDLESS = "CREATE TABLE clicks (id BIGINT, name STRING, ts AS PROCTIME()) WITH ('connector' = 'datagen')"
BOUNDED = "CREATE TABLE names (id BIGINT, name STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '9')"


@pytest.fixture
def environment() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.execute_sql(ENDLESS)
    made.execute_sql(BOUNDED)
    return made


def advice(environment: TableEnvironment, query: str) -> str:
    text = environment.explain_sql(query, ExplainDetail.PLAN_ADVICE)
    plan = text.partition("== Optimized Physical Plan With Advice ==\n")[2].partition("\n\n==")[0]
    return plan.partition("\n\n")[2].rstrip()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT name, COUNT(*) FROM clicks GROUP BY name", "State grows without end: an aggregate keeps all groups"),
        ("SELECT a.id FROM clicks a JOIN clicks b ON a.id = b.id", "a regular join keeps all rows of both sides"),
        ("SELECT name, COUNT(DISTINCT id) FROM clicks GROUP BY name", "table.optimizer.distinct-agg.split.enabled"),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY id) AS r FROM clicks) WHERE r < 3",
            "a Top-N keeps the first rows of all partitions",
        ),
        (
            "SELECT n, RAND() FROM (SELECT name, COUNT(*) AS n FROM names GROUP BY name)",
            "RAND() may differ when a row is taken back",
        ),
    ],
)
def test_what_a_plan_will_suffer_from(environment: TableEnvironment, query: str, text: str) -> None:
    assert text in advice(environment, query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM clicks WHERE id > 3",
        "SELECT name, RAND() FROM clicks",
        "SELECT name, COUNT(*) FROM names GROUP BY name",
        "SELECT name, COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY window_start, window_end, name",
    ],
)
def test_plans_that_are_well(environment: TableEnvironment, query: str) -> None:
    assert advice(environment, query) == "No available advice..."


def test_settings_that_settle_it(environment: TableEnvironment) -> None:
    query = "SELECT name, COUNT(DISTINCT id) FROM clicks GROUP BY name"
    environment.get_config().set("table.exec.state.ttl", "1 h")
    environment.get_config().set("table.optimizer.distinct-agg.split.enabled", "true")
    assert advice(environment, query) == "No available advice..."


def test_one_phase_is_named(environment: TableEnvironment) -> None:
    environment.get_config().set("table.optimizer.agg-phase-strategy", "ONE_PHASE")
    found = advice(environment, "SELECT name, COUNT(*) FROM names GROUP BY name")
    assert found.startswith("advice[1]: [ADVICE] All rows are exchanged")
    assert "'table.optimizer.agg-phase-strategy' = 'AUTO'" in found


def test_the_same_is_said_once(environment: TableEnvironment) -> None:
    query = "SELECT name, COUNT(*) FROM clicks GROUP BY name"
    assert advice(environment, f"{query} UNION ALL {query}").count("State grows") == 1
