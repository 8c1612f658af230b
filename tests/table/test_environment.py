"""Table environments: settings, descriptors, DataStreams as tables, results."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common import Configuration, Row, RowKind, Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.nodes import PROCTIME, ROWTIME
from millrace.relational.rows import Rows, record_batch
from millrace.table import (
    ChangelogMode,
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    ListView,
    MapView,
    ModelDescriptor,
    Schema,
    SqlDialect,
    StreamTableEnvironment,
    Table,
    TableConfig,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)
from millrace.table.catalogs.legacy_schema import Rowtime
from millrace.table.catalogs.legacy_schema import Schema as OldSchema
from millrace.table.expressions import col, lit
from millrace.table.planner.engine import StreamingEngine
from millrace.table.sessions.table_result import query_result
from millrace.util.exceptions import TableException


def test_settings() -> None:
    settings = (
        EnvironmentSettings.new_instance()
        .in_batch_mode()
        .with_built_in_catalog_name("c")
        .with_built_in_database_name("d")
        .build()
    )
    assert not settings.is_streaming_mode()
    environment = TableEnvironment.create(settings)
    assert (environment.get_current_catalog(), environment.get_current_database()) == ("c", "d")
    configuration = Configuration().set_string("execution.runtime-mode", "batch")
    assert not TableEnvironment.create(configuration)._session.streaming
    assert EnvironmentSettings.in_streaming_mode().is_streaming_mode()


def test_config() -> None:
    root = Configuration().set_string("parallelism.default", "3")
    config = TableConfig(root=root).set("a", "b")
    assert (config.get("parallelism.default", "1"), config.get("x", "y")) == ("3", "y")
    assert config.to_map() == {"parallelism.default": "3", "a": "b"}
    config.set_idle_state_retention(dt.timedelta(hours=2))
    assert config.get("table.exec.state.ttl", "") == "7200000 ms"
    config.set_local_timezone("Asia/Shanghai")
    assert config.get_local_timezone() == "Asia/Shanghai"
    assert config.get_sql_dialect() is SqlDialect.DEFAULT
    config.set_sql_dialect(SqlDialect.HIVE)
    assert config.get_sql_dialect() is SqlDialect.HIVE


def test_statements_of_another_dialect_are_refused(t_env: TableEnvironment) -> None:
    t_env.get_config().set_sql_dialect(SqlDialect.HIVE)
    with pytest.raises(NotImplementedError, match="SQL dialect HIVE"):
        t_env.execute_sql("SHOW TABLES")
    t_env.execute_sql("SET 'table.sql-dialect' = 'default'")
    assert list(t_env.execute_sql("SHOW TABLES").collect()) == []
    with pytest.raises(TableException, match="there is no SQL dialect 'oracle', only default, hive"):
        t_env.get_config().set("table.sql-dialect", "oracle")


def test_descriptors(t_env: TableEnvironment) -> None:
    schema = Schema.new_builder().column("a", "INT").column_by_expression("b", col("a") + 1).build()
    json = FormatDescriptor.for_format("json").option("ignore-parse-errors", True).build()
    assert str(json) == "json[{ignore-parse-errors=true}]"
    descriptor = (
        TableDescriptor.for_connector("datagen").schema(schema).format(json).partitioned_by("a").comment("said").build()
    )
    assert descriptor.get_options() == {
        "connector": "datagen",
        "format": "json",
        "json.ignore-parse-errors": "true",
    }
    assert "PARTITIONED BY (`a`)" in str(descriptor)
    plain = TableDescriptor.for_connector("datagen").option("number-of-rows", 5).schema(schema).build()
    t_env.create_temporary_table("t", plain)
    t_env.create_temporary_table("t", plain, True)
    for table in (t_env.from_path("t"), t_env.from_descriptor(plain)):
        assert table.get_schema() == TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.INT()])
    assert t_env.list_temporary_tables() == ["t"]
    assert t_env.drop_temporary_table("t")
    model = ModelDescriptor.for_provider("p").input_schema(schema).build()
    t_env.create_model("m", model)
    assert t_env.list_models() == ["m"]
    assert t_env.drop_model("m")


def test_schemas_are_checked() -> None:
    with pytest.raises(Exception, match="column 'a' is there twice"):
        Schema.new_builder().column("a", "INT").column("a", "INT")
    with pytest.raises(Exception, match="names a column that is not there: 'b'"):
        Schema.new_builder().column("a", "INT").primary_key("b").build()


def test_pipelines(t_env: TableEnvironment, people: Table) -> None:
    t_env.execute_sql("CREATE TABLE out (id BIGINT, name STRING, paid DOUBLE) WITH ('connector' = 'blackhole')")
    pipeline = people.insert_into("out")
    identifier = pipeline.get_sink_identifier()
    assert identifier is not None and identifier.as_summary_string() == "default_catalog.default_database.out"
    assert "Sink" in pipeline.explain()
    with pytest.raises(Exception, match="takes 3 columns"):
        people.select(col("id")).execute_insert("out")
    with pytest.raises(Exception, match="did you mean 'out'"):
        people.execute_insert("outt")
    with pytest.raises(Exception, match="the statement set is empty"):
        t_env.create_statement_set().execute()


def test_to_pandas(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    first = record_batch([pa.array([1, 2]), pa.array(["Ann", "Bob"]), pa.array([1.5, None])], 2)
    second = record_batch([pa.array([1]), pa.array(["Ann"]), pa.array([1.5])], 1)
    batches = [Rows(first), Rows(second, np.array([RowKind.DELETE.value], np.uint8))]

    def frame_of(number: int) -> Any:
        def execute(engine: Any, plans: Any, session: Any, job_name: str | None = None) -> Any:
            return query_result(plans[0], iter(batches[:number]), session)

        monkeypatch.setattr(StreamingEngine, "execute", execute)
        return people.to_pandas()

    assert list(frame_of(0).columns) == ["id", "name", "paid"]
    assert frame_of(0).empty
    assert frame_of(1)["name"].tolist() == ["Ann", "Bob"]
    assert frame_of(1)["paid"].isna().tolist() == [False, True]
    assert frame_of(2).to_dict("list")["name"] == ["Bob"]


@pytest.fixture
def streams() -> tuple[StreamTableEnvironment, Any]:
    environment = StreamExecutionEnvironment.get_execution_environment()
    info = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    return StreamTableEnvironment.create(environment), environment.from_collection([Row(1, "x")], info)


def columns(table: Table) -> list[tuple[str, str, str | None]]:
    return [(column.name, str(column.type), column.time) for column in table._plan.schema]


def test_data_streams_as_tables(streams: Any) -> None:
    t_env, stream = streams
    assert columns(t_env.from_data_stream(stream)) == [("a", "INT", None), ("b", "STRING", None)]
    assert columns(t_env.from_data_stream(stream, col("x"), col("y")))[1] == ("y", "STRING", None)
    picked = t_env.from_data_stream(stream, col("b"), col("a").alias("n"), col("t").rowtime, col("p").proctime)
    assert columns(picked)[:3] == [("b", "STRING", None), ("n", "INT", None), ("t", "TIMESTAMP_LTZ(3)", ROWTIME)]
    assert columns(picked)[3][2] == PROCTIME
    schema = (
        Schema.new_builder()
        .column("b", "STRING")
        .column_by_expression("twice", "b || b")
        .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    assert columns(t_env.from_data_stream(stream, schema)) == [
        ("b", "STRING", None), ("twice", "STRING", None), ("ts", "TIMESTAMP_LTZ(3)", ROWTIME)
    ]  # fmt: skip
    t_env.create_temporary_view("v", stream)
    assert t_env.from_path("v").get_schema().get_field_names() == ["a", "b"]
    with pytest.raises(Exception, match="the stream has 2 fields"):
        t_env.from_data_stream(stream, col("x"), col("y"), col("z"))


def test_changelog_modes(streams: Any) -> None:
    t_env, stream = streams
    assert t_env.from_changelog_stream(stream)._plan.schema[0].name == "a"
    assert str(ChangelogMode.upsert()) == "[INSERT, UPDATE_AFTER, DELETE]"
    assert ChangelogMode.insert_only() != ChangelogMode.all()


def test_tables_of_two_environments_do_not_meet(people: Table) -> None:
    other = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(Exception, match="of two table environments"):
        people.union_all(other.from_elements([(1, "a", 1.0)], ["id", "name", "paid"]))


def test_columns_are_attributes(people: Table) -> None:
    assert people.select(people.id + lit(1)).get_schema().get_field_count() == 1
    with pytest.raises(AttributeError, match="no method and no column 'nothing'"):
        _ = people.nothing


def test_data_views() -> None:
    items: ListView[int] = ListView()
    items.add_all([1, 2])
    items.add(3)
    assert list(items) == [1, 2, 3]
    entries: MapView[str, int] = MapView()
    entries["a"] = 1
    entries.put_all({"b": 2})
    assert ("a" in entries, dict(entries.items()), entries.is_empty()) == (True, {"a": 1, "b": 2}, False)
    del entries["a"]
    entries.remove("b")
    assert entries.is_empty()
    items.clear()
    assert list(items.get()) == []


def test_old_descriptors() -> None:
    time = Rowtime().timestamps_from_field("ts").watermarks_periodic_bounded(500)
    schema = OldSchema(fields={"a": DataTypes.INT()}).field("t", "TIMESTAMP(3)").rowtime(time)
    assert schema.to_properties() == {
        "schema.0.data-type": "INT", "schema.0.name": "a", "schema.1.data-type": "TIMESTAMP(3)", "schema.1.name": "t",
        "schema.1.rowtime.timestamps.type": "from-field", "schema.1.rowtime.timestamps.from": "ts",
        "schema.1.rowtime.watermarks.type": "periodic-bounded", "schema.1.rowtime.watermarks.delay": "500",
    }  # fmt: skip
