"""EXPLAIN in streaming mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millrace.table import EnvironmentSettings, ExplainDetail, TableEnvironment

COUNTS = "INSERT INTO s SELECT name, COUNT(*) FROM t WHERE id > 1 GROUP BY name"


@pytest.fixture
def environment() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.get_config().set("parallelism.default", "2")
    made.create_temporary_view("t", made.from_elements([(1, "a"), (2, "b")], ["id", "name"]))
    made.execute_sql("CREATE TABLE s (name STRING, n BIGINT) WITH ('connector' = 'blackhole')")
    return made


def sections(text: str) -> dict[str, list[str]]:
    """Title -> lines."""
    found: dict[str, list[str]] = {}
    for part in text.split("== ")[1:]:
        title, _, rest = part.partition(" ==\n")
        found[title] = rest.strip().splitlines()
    return found


def test_operators_and_changes(environment: TableEnvironment) -> None:
    found = sections(environment.explain_sql(COUNTS, ExplainDetail.CHANGELOG_MODE))
    assert list(found) == [
        "Abstract Syntax Tree",
        "Optimized Physical Plan",
        "Optimized Execution Plan",
        "Stages on Spark",
    ]
    aggregate = next(line for line in found["Optimized Physical Plan"] if "Aggregate(" in line)
    assert aggregate.endswith("changelogMode=[I,UB,UA]")
    operators = found["Optimized Execution Plan"]
    assert operators[0] == "1: Source: Values"
    assert any("Sink: Sink(default_catalog.default_database.s)" in line for line in operators)
    assert any("GlobalGroupAggregate(name) <- 3 [HASH]" in line for line in operators)


def test_stages_begin_with_what_they_read(environment: TableEnvironment) -> None:
    stages = sections(environment.explain_sql(COUNTS))["Stages on Spark"]
    assert stages[0] == "stage 0, 2 tasks"
    second = stages.index("stage 1, 2 tasks")
    assert any("LocalGroupAggregate" in line for line in stages[:second])
    assert stages[second + 1] == "  reads 3 [HASH] -> 4"
    assert stages[second + 2] == "  4: GlobalGroupAggregate(name)"
    assert stages[-1].endswith("Sink: Sink(default_catalog.default_database.s)")


def test_what_is_for_one_subtask_has_one_task(environment: TableEnvironment) -> None:
    stages = sections(environment.explain_sql("SELECT COUNT(*) FROM t"))["Stages on Spark"]
    assert "stage 1, 1 task" in stages


def test_the_plan_as_json(environment: TableEnvironment) -> None:
    lines = sections(environment.explain_sql(COUNTS, ExplainDetail.JSON_EXECUTION_PLAN))["Physical Execution Plan"]
    nodes = json.loads("\n".join(lines))["nodes"]
    merged = next(node for node in nodes if node["type"] == "GlobalGroupAggregate(name)")
    assert merged["predecessors"][0]["ship_strategy"] == "HASH"
    assert {node["parallelism"] for node in nodes} <= {1, 2}


def test_costs_are_said_to_be_unknown(environment: TableEnvironment) -> None:
    (text,) = sections(environment.explain_sql(COUNTS, ExplainDetail.ESTIMATED_COST))["Estimated Cost"]
    assert text.startswith("not known in streaming mode")


def test_explain_in_sql_knows_the_details(environment: TableEnvironment) -> None:
    result = environment.execute_sql(f"EXPLAIN ESTIMATED_COST, CHANGELOG_MODE, PLAN_ADVICE {COUNTS}")
    found = sections(next(result.collect())[0])
    assert "Optimized Physical Plan With Advice" in found and list(found)[-1] == "Estimated Cost"


def test_nothing_is_added_to_the_program(environment: TableEnvironment) -> None:
    before = len(environment._session.streams._program.added())
    environment.explain_sql(COUNTS)
    assert len(environment._session.streams._program.added()) == before


def test_conditions_of_a_source_name_the_columns_of_its_table(environment: TableEnvironment, tmp_path: Path) -> None:
    """Also where the columns beside them are not read."""
    environment.execute_sql(
        "CREATE TABLE parts (id INT, name STRING, x INT, dt STRING, hr STRING, "
        "`file.path` STRING NOT NULL METADATA) PARTITIONED BY (dt, hr) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    query = "SELECT id FROM parts WHERE dt = '2020-05-20' AND hr = '12' AND `file.path` <> 'x'"
    shown = "\n".join(sections(environment.explain_sql(query))["Optimized Physical Plan"])
    scan = shown.partition("Scan(")[2]
    assert "[id, dt, hr, file.path], (dt = '2020-05-20'), (hr = '12'), (file.path <> 'x')" in scan, shown
