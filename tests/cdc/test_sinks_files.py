"""Pipelines that write files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cdc.running import run

from millrace.cdc.yaml_tree import PipelineError

PIPELINE = """
source:
  type: values
  events:
    - {{table: app.a b, create: {{columns: {{id: INT, name: STRING}}, primary-key: [id]}}}}
    - {{table: app.a b, insert: [[1, x], [2, y]]}}
    - {{table: app.a b, update: [[1, x], [1, z]]}}
    - {{table: app.a b, add-column: {{name: n, type: DOUBLE}}}}
    - {{table: app.a b, delete: [[2, y, null]]}}
    - {{table: app.other, create: {{columns: {{id: INT}}, primary-key: [id]}}}}
    - {{table: app.other, insert: [[7]]}}
sink: {{type: filesystem, path: '{path}'{more}}}
pipeline: {{parallelism: 2, schema.change.behavior: evolve}}
"""


def test_a_log_of_changes(tmp_path: Path) -> None:
    run(PIPELINE.format(path=tmp_path, more=""), epoch_records=2)
    lines = [line for file in sorted((tmp_path / "app" / "a b").iterdir()) for line in file.read_text().splitlines()]
    found = sorted((json.loads(line) for line in lines), key=lambda each: json.dumps(each["before"]))
    sides = [(each["op"], each["before"], each["after"]) for each in found]
    assert sorted(sides, key=str) == sorted(
        [
            ("c", None, {"id": 1, "name": "x"}),
            ("c", None, {"id": 2, "name": "y"}),
            ("u", {"id": 1, "name": "x"}, {"id": 1, "name": "z"}),
            ("d", {"id": 2, "name": "y", "n": None}, None),
        ],
        key=str,
    )
    assert len(list((tmp_path / "app" / "other").iterdir())) == 1


def test_parquet(tmp_path: Path) -> None:
    run(PIPELINE.format(path=tmp_path, more=", format: parquet"))
    tables = [pq.read_table(file) for file in (tmp_path / "app" / "a b").iterdir()]
    assert sorted(each.column_names for each in tables) == [
        ["id", "name", "__data_event_type__"],
        ["id", "name", "n", "__data_event_type__"],
    ]
    rows = sorted((tuple(row.values()) for table in tables for row in table.to_pylist()), key=str)
    assert rows == [(1, "x", "+I"), (1, "x", "-U"), (1, "z", "+U"), (2, "y", "+I"), (2, "y", None, "-D")]


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ("{type: filesystem}", "needs 'path'"),
        ("{type: filesystem, path: x, format: xml}", "'format' is one of"),
        ("{type: filesystem, path: x, formt: csv}", "did you mean 'format'"),
        ("{type: paimon}", "writes no sink of type paimon; nearest: 'filesystem'"),
        ("{type: files}", "did you mean 'filesystem'"),
        ("{type: kafka}", "needs 'properties.bootstrap.servers'"),
        ("{type: kafka, properties.bootstrap.servers: x, value.format: avro}", "'value.format' is one of"),
        ("{type: kafka, properties.bootstrap.servers: x, sink.custom-header: a}", "key:value"),
        ("{type: postgres, hostname: x, username: y}", "needs 'database-name'"),
        ("{type: jdbc, url: 'http:x'}", "is no JDBC URL"),
        ("{type: jdbc, url: 'jdbc:sqlite:x', sink.max-retries: often}", "'sink.max-retries': often cannot be read"),
    ],
)
def test_sinks_that_cannot_be(sink: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        run(f"source: {{type: values}}\nsink: {sink}\n")
