"""Pipeline files: what is in them, and errors that name the line."""

from __future__ import annotations

import pytest

from millrace.cdc import pipeline_file
from millrace.cdc.pipeline_file import Behavior, parse_pipeline, read_pipeline
from millrace.cdc.yaml_tree import PipelineError

WHOLE = r"""
source:
  type: values
  name: Some events
sink:
  type: kafka
  name: Topics
  properties.bootstrap.servers: localhost:9092
  properties:
    acks: all
  include.schema.changes: [create.table, column]
  exclude.schema.changes: [drop]
transform:
  - source-table: app.\.*
    projection: \*, UPPER(name) AS name
    filter: id > 10
    primary-keys: id, shard
    partition-keys: [shard]
    table-options: comment=the orders,engine=InnoDB
    converter-after-transform: soft_delete
    description: all of them
route:
  - source-table: app.\.*
    sink-table: ods.<>
    replace-symbol: <>
pipeline:
  name: Copy
  parallelism: 3
  schema.change.behavior: TRY_EVOLVE
  local-time-zone: Europe/Berlin
  route-mode: first_match
  user-defined-function:
    - name: plus
      classpath: mine.plus
  flink-conf:
    execution.checkpointing.interval: 10s
    state:
      backend: rocksdb
"""
SMALL = "source: {type: values}\nsink: {type: print}\n"


def test_a_whole_file() -> None:
    found = parse_pipeline(WHOLE)
    assert (found.source.type, found.source.name, found.sink.name) == ("values", "Some events", "Topics")
    assert found.sink.options == {"properties.bootstrap.servers": "localhost:9092", "properties.acks": "all"}
    assert (found.name, found.parallelism, found.behavior) == ("Copy", 3, Behavior.TRY_EVOLVE)
    assert found.zone == "Europe/Berlin" and found.first_route_only and not found.batch
    assert found.settings == {"execution.checkpointing.interval": "10s", "state.backend": "rocksdb"}
    (transform,) = found.transforms
    assert transform.projection == "*, UPPER(name) AS name"
    assert (transform.primary_keys, transform.partition_keys) == (("id", "shard"), ("shard",))
    assert transform.table_options == {"comment": "the orders", "engine": "InnoDB"} and transform.soft_delete
    (route,) = found.routes
    assert (route.source_table, route.sink_table, route.replace_symbol) == (r"app.\.*", "ods.<>", "<>")
    assert [(each.name, each.classpath) for each in found.functions] == [("plus", "mine.plus")]
    assert found.accepted == {
        pipeline_file.CREATE_TABLE, pipeline_file.ADD_COLUMN, pipeline_file.RENAME_COLUMN,
    }  # fmt: skip


def test_what_a_file_need_not_say() -> None:
    found = parse_pipeline(SMALL)
    assert (found.name, found.parallelism, found.behavior) == ("Flink CDC Pipeline Job", 1, Behavior.LENIENT)
    assert set(pipeline_file.ALL) - found.accepted == {pipeline_file.DROP_TABLE, pipeline_file.TRUNCATE_TABLE}


@pytest.mark.parametrize(
    ("behavior", "changes", "left_out"),
    [
        ("evolve", "", set()),
        ("lenient", "  exclude.schema.changes: []\n", set()),
        ("evolve", "  exclude.schema.changes: [drop]\n", {pipeline_file.DROP_TABLE, pipeline_file.DROP_COLUMN}),
        (
            "evolve",
            "  exclude.schema.changes: table\n",
            {pipeline_file.CREATE_TABLE, pipeline_file.DROP_TABLE, pipeline_file.TRUNCATE_TABLE},
        ),
        (
            "evolve",
            "  include.schema.changes: [create.table.event]\n",
            set(pipeline_file.ALL) - {pipeline_file.CREATE_TABLE},
        ),
    ],
)
def test_kinds_of_changes(behavior: str, changes: str, left_out: set[str]) -> None:
    text = f"source: {{type: values}}\nsink:\n  type: print\n{changes}pipeline: {{schema.change.behavior: {behavior}}}"
    assert set(pipeline_file.ALL) - parse_pipeline(text).accepted == left_out


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "is empty"),
        ("- a\n- b\n", 1, "block of keys"),
        ("source: {type: values}\n", 1, "needs 'sink'"),
        ("source: {type: values}\nsink:\n  a: 1\n", 3, "needs 'type'"),
        (SMALL + "sinks: 1\n", 3, "unknown key 'sinks' in the pipeline, did you mean 'sink'?"),
        (SMALL + "transform:\n  - source-table: a\n    prjection: b\n", 5, "did you mean 'projection'?"),
        (SMALL + "transform:\n  source-table: a\n", 3, "must be a list"),
        (SMALL + "route:\n  - sink-table: a\n", 4, "needs 'source-table'"),
        (SMALL + "route:\n  - {source-table: a, sink-table: b, replace-symbol: <>}\n", 4, "does not have"),
        (SMALL + "transform:\n- source-table: a\n  converter-after-transform: HARD\n", 5, "SOFT_DELETE"),
        (SMALL + "transform:\n- source-table: a\n  table-options: x\n", 5, "name=value"),
        (SMALL + "pipeline:\n  parallelism: many\n", 4, "number from 1 on"),
        (SMALL + "pipeline:\n  parallelism: 2\n  schema.change.behavior: never\n", 5, "exception, evolve, try_evolve"),
        (SMALL + "pipeline:\n  local-time-zone: Mars/Base\n", 4, "Mars/Base"),
        (SMALL + "pipeline:\n  model: [a]\n", 4, "no AI models"),
        ("source: {type: values}\nsink: {type: print, include.schema.changes: [ad.column]}\n", 2, "'add.column'"),
        (SMALL + "source: {type: b}\n", 3, "stands twice"),
        ("source: {type: values}\nsink:\n  type: *a\n", 3, "needs quotes, or a backslash"),
        ("source: [\n", 2, "no YAML"),
    ],
)
def test_errors_name_the_line(text: str, line: int | None, said: str) -> None:
    with pytest.raises(PipelineError) as error:
        parse_pipeline(text, "p.yaml")
    assert said in str(error.value) and error.value.line == line
    assert str(error.value).startswith("p.yaml" if line is None else f"p.yaml, line {line}: ")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(PipelineError, match="cannot be read"):
        read_pipeline("/nowhere/p.yaml")


def test_secrets_are_not_shown() -> None:
    found = parse_pipeline("source: {type: values}\nsink: {type: jdbc, password: hunter2}\n")
    assert "hunter2" not in repr(found)
