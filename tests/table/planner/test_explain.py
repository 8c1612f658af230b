"""EXPLAIN in streaming mode."""

from __future__ import annotations

from millrace.table import EnvironmentSettings, ExplainDetail, TableEnvironment


def test_operators_and_changes() -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.create_temporary_view("t", environment.from_elements([(1, "a"), (2, "b")], ["id", "name"]))
    environment.execute_sql("CREATE TABLE s (name STRING, n BIGINT) WITH ('connector' = 'blackhole')")
    text = environment.explain_sql(
        "INSERT INTO s SELECT name, COUNT(*) FROM t WHERE id > 1 GROUP BY name", ExplainDetail.CHANGELOG_MODE
    )
    parts = text.split("== ")
    assert [part.partition(" ==")[0] for part in parts[1:]] == [
        "Abstract Syntax Tree",
        "Optimized Physical Plan",
        "Optimized Execution Plan",
    ]
    aggregate = next(line for line in parts[2].splitlines() if "Aggregate(" in line)
    assert aggregate.endswith("changelogMode=[I,UB,UA]")
    operators = parts[3].splitlines()[1:]
    assert operators[0] == "1: Source: Values"
    assert any(line.startswith("6: Sink: Sink(default_catalog.default_database.s)") for line in operators)
    assert any("GlobalGroupAggregate(name) <- 3 [HASH]" in line for line in operators)
