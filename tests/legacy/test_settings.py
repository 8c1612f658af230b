"""Older names of settings, and what programs reach behind PyFlink's objects."""

from __future__ import annotations

import datetime
import importlib
import warnings
from typing import Any

import pytest

from millrace.common import Configuration, RestartStrategies, Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_locally
from millrace.util.exceptions import TableException

Told = list[warnings.WarningMessage]


@pytest.fixture
def env(told: Told) -> Any:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.mark.parametrize("method", ["enable_externalized_checkpoints", "set_externalized_checkpoint_cleanup"])
def test_cleanup_of_checkpoints(env: Any, told: Told, method: str) -> None:
    from pyflink.datastream import ExternalizedCheckpointCleanup  # type: ignore[import-not-found]
    from pyflink.datastream.checkpoint_config import (  # type: ignore[import-not-found]
        ExternalizedCheckpointCleanup as same,
    )

    assert same is ExternalizedCheckpointCleanup
    config = env.get_checkpoint_config()
    assert getattr(config, method)(ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION) is config
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    assert config.get_externalized_checkpoint_cleanup().name == "RETAIN_ON_CANCELLATION"
    assert "ExternalizedCheckpointRetention" in str(told[0].message)


def test_checkpoints_that_are_preferred(env: Any) -> None:
    config = env.get_checkpoint_config()
    assert config.set_prefer_checkpoint_for_recovery(True) is config
    assert config.is_prefer_checkpoint_for_recovery() is False


def test_restart_strategies_of_a_config(env: Any) -> None:
    config = env.get_config()
    config.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 10_000))
    assert type(config.get_restart_strategy()).__name__ == "FixedDelayRestartStrategyConfiguration"
    settings = env._configuration.to_dict()
    assert settings["restart-strategy.fixed-delay.attempts"] == "3"


def test_modes_of_execution(env: Any) -> None:
    from pyflink.common import ExecutionMode, InputDependencyConstraint  # type: ignore[import-not-found]
    from pyflink.common.execution_mode import ExecutionMode as same  # type: ignore[import-not-found]

    assert same is ExecutionMode
    config = env.get_config()
    assert config.get_execution_mode() is ExecutionMode.PIPELINED
    assert config.set_execution_mode(ExecutionMode.BATCH).get_execution_mode() is ExecutionMode.BATCH
    assert config.get_default_input_dependency_constraint() is InputDependencyConstraint.ANY
    config.set_default_input_dependency_constraint(InputDependencyConstraint.ALL)
    assert config.get_default_input_dependency_constraint() is InputDependencyConstraint.ALL


def test_types_of_kryo(env: Any, told: Told) -> None:
    config = env.get_config()
    config.add_default_kryo_serializer("a.B", "c.D").register_type_with_kryo_serializer("a.B", "c.D")
    config.register_kryo_type("a.B").register_pojo_type("a.B").disable_auto_type_registration()
    assert config.is_auto_type_registration_disabled()
    assert config.get_registered_types_with_kryo_serializer_classes() == {}
    env.add_default_kryo_serializer("a.B", "c.D")
    env.register_type_with_kryo_serializer("a.B", "c.D")
    env.register_type("a.B")
    assert "pickle" in str(told[0].message)


def test_schemas_of_formats_in_their_older_place(told: Told) -> None:
    from pyflink.common.serialization import (  # type: ignore[import-not-found]
        AvroRowSerializationSchema,
        CsvRowDeserializationSchema,
        JsonRowDeserializationSchema,
    )

    from millrace.datastream.formats.json import JsonRowDeserializationSchema as todays

    assert JsonRowDeserializationSchema is todays
    assert CsvRowDeserializationSchema and AvroRowSerializationSchema


def test_the_type_of_a_key(env: Any, told: Told) -> None:
    stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    keyed = stream.key_by(lambda pair: pair[0], key_type_info=Types.STRING())
    assert sorted(run_locally(keyed.sum(1)).collected) == [("a", 1), ("a", 4), ("b", 2)]
    stream.connect(stream).key_by(lambda a: a[0], lambda b: b[0], key_type_info=Types.STRING())
    assert "key_type" in str(told[0].message)


def test_settings_of_tables(told: Told) -> None:
    given = Configuration.from_dict({"execution.runtime-mode": "BATCH", "a": "b"})
    settings: Any = EnvironmentSettings.from_configuration(given)  # type: ignore[attr-defined]
    assert not settings.is_streaming_mode() and settings.is_blink_planner()
    assert settings.to_configuration().get_string("a", "") == "b"
    config: Any = TableEnvironment.create(settings).get_config()
    config.set_null_check(True)
    config.set_decimal_context(20, "HALF_UP")
    assert config.get_null_check() and config.get_decimal_context() == (34, "HALF_UP")
    with pytest.raises(TableException, match="always handle NULL"):
        config.set_null_check(False)
    with pytest.raises(TableException, match="HALF_UP"):
        config.set_decimal_context(20, "DOWN")


def test_the_parallelism_behind_a_table_environment(told: Told) -> None:
    t_env: Any = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env._j_tenv.getPlanner().getExecEnv().setParallelism(3)
    assert t_env._session.streams.get_parallelism() == 3


def test_names_of_java_behind_an_environment(env: Any) -> None:
    assert env._j_stream_execution_environment.getConfig() is env.get_config()
    env._j_stream_execution_environment.getCheckpointConfig().setCheckpointTimeout(5_000)
    assert env.get_checkpoint_config().get_checkpoint_timeout() == 5_000
    with pytest.raises(AttributeError, match="getNonsense"):
        env.getNonsense()


def test_without_pyflink_nothing_of_it_is_there() -> None:
    with pytest.raises(AttributeError):
        EnvironmentSettings.from_configuration(Configuration())  # type: ignore[attr-defined]
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(TypeError):
        stream.key_by(str, key_type_info=Types.STRING())  # type: ignore[call-arg]


def test_older_options_of_descriptors(told: Told) -> None:
    from pyflink.table.descriptors import Elasticsearch, HBase, Kafka  # type: ignore[import-not-found]

    search = Elasticsearch().disable_flush_on_checkpoint().connection_max_retry_timeout(3).connection_path_prefix("/v")
    search.bulk_flush_backoff_constant().bulk_flush_backoff_exponential()
    assert search.bulk_flush_backoff_max_retries(3).bulk_flush_backoff_delay(30_000).options == {
        "sink.flush-on-checkpoint": "false",
        "connection.max-retry-timeout": "3 ms",
        "connection.path-prefix": "/v",
        "sink.bulk-flush.backoff.strategy": "EXPONENTIAL",
        "sink.bulk-flush.backoff.max-retries": "3",
        "sink.bulk-flush.backoff.delay": "30000 ms",
    }
    table = HBase().zookeeper_node_parent("/hbase").write_buffer_flush_max_size("10mb")
    assert table.write_buffer_flush_max_rows(1000).write_buffer_flush_interval(2000).options == {
        "zookeeper.znode.parent": "/hbase",
        "sink.buffer-flush.max-size": "10mb",
        "sink.buffer-flush.max-rows": "1000",
        "sink.buffer-flush.interval": "2000 ms",
    }
    for refused in (Elasticsearch().failure_handler_custom, Kafka().sink_partitioner_custom):
        with pytest.raises(TableException, match="class of Java"):
            refused("org.example.Handler")


def test_the_config_of_a_query(told: Told) -> None:
    from pyflink.table import StreamQueryConfig  # type: ignore[import-not-found]
    from pyflink.table.query_config import StreamQueryConfig as same  # type: ignore[import-not-found]

    assert same is StreamQueryConfig
    t_env: Any = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    day, week = datetime.timedelta(days=1), datetime.timedelta(days=7)
    config = t_env.query_config().with_idle_state_retention_time(day, week)
    assert config.get_min_idle_state_retention_time() == 86_400_000
    assert config.get_max_idle_state_retention_time() == 604_800_000
    t_env.execute_sql("CREATE TABLE s (n INT) WITH ('connector' = 'blackhole')")
    t_env.sql_update("INSERT INTO s VALUES (1)", config)
    assert t_env.get_config().get_idle_state_retention() == day


def test_kafka_with_a_version_in_its_name(told: Told) -> None:
    from pyflink.datastream.connectors import FlinkKafkaConsumer010  # type: ignore[import-not-found]
    from pyflink.datastream.connectors.kafka import (  # type: ignore[import-not-found]
        FlinkKafkaConsumer,
        FlinkKafkaProducer011,
    )

    from millrace.common.serialization import SimpleStringSchema

    consumer = FlinkKafkaConsumer010("topic", SimpleStringSchema(), {"bootstrap.servers": "h:1"})
    assert isinstance(consumer, FlinkKafkaConsumer)
    FlinkKafkaProducer011("topic", SimpleStringSchema(), {"bootstrap.servers": "h:1"})
    assert ["KafkaSource" in str(told[0].message), "KafkaSink" in str(told[1].message)] == [True, True]


@pytest.mark.parametrize("module", ["connectors", "connectors.kinesis"])
def test_streams_of_dynamodb_are_refused_with_the_nearest(told: Told, module: str) -> None:
    found = importlib.import_module(f"pyflink.datastream.{module}").FlinkDynamoDBStreamsConsumer
    with pytest.raises(NotImplementedError, match="nearest: KinesisStreamsSource"):
        found("stream", None, {})


def test_the_shell_knows_the_names_of_its_packages(told: Told) -> None:
    from pyflink.shell import (  # type: ignore[import-not-found]
        CatalogDatabase,
        DataTypes,
        RuntimeExecutionMode,
        Tumble,
        b_env,
        bt_env,
    )

    import millrace.table

    assert DataTypes is millrace.table.DataTypes
    assert not bt_env._session.streaming and b_env is not None
    assert CatalogDatabase and RuntimeExecutionMode and Tumble
    with pytest.raises(ImportError):
        exec("from pyflink.shell import Nonsense")


def test_small_names(told: Told) -> None:
    from pyflink.dataset.execution_environment import ExecutionEnvironment  # type: ignore[import-not-found]

    from millrace.table.catalog import CatalogFunction

    assert ExecutionEnvironment.__name__ == "ExecutionEnvironment"
    function: Any = CatalogFunction.create_instance("a.b", "Python")
    assert function.is_generic() and function.copy().is_generic()


def test_older_settings_of_backends(told: Told) -> None:
    from pyflink.datastream import FsStateBackend, RocksDBStateBackend

    backend = FsStateBackend("file:///tmp/x", file_state_size_threshold=2048, write_buffer_size=4096)
    assert (backend.get_min_file_size_threshold(), backend.get_write_buffer_size()) == (2048, 4096)
    rocks = RocksDBStateBackend("file:///tmp/x")
    rocks.set_number_of_transfering_threads(4)
    assert rocks.get_number_of_transfering_threads() == rocks.get_number_of_transfer_threads() == 4
