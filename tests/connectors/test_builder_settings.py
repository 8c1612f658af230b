"""Methods of builders that no other test calls: each reaches the setting that the connector works with, changes
nothing because it is documented to, or is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from tests.corpus import corpus

from millrace.common.execution_config import ExecutionConfig
from millrace.common.serialization import SimpleStringSchema
from millrace.common.state import StateTtlConfig
from millrace.common.time import Time
from millrace.connectors.cassandra import cassandra_streams as cassandra
from millrace.connectors.cdc.deserializers import RowDebeziumDeserializationSchema
from millrace.connectors.cdc.mysql.mysql_source import MySqlSourceBuilder
from millrace.connectors.cdc.postgres.postgres_source import PostgresSourceBuilder
from millrace.connectors.file_system import FileSource, StreamFormat
from millrace.connectors.file_system.file_listing import FileSplitAssignerProvider
from millrace.connectors.jdbc.jdbc_sink import JdbcConnectionOptions
from millrace.connectors.kafka.kafka_legacy import FlinkKafkaConsumer, FlinkKafkaProducer
from millrace.connectors.kafka.kafka_offsets import KafkaOffsetsInitializer
from millrace.connectors.kafka.kafka_records import KafkaRecordDeserializationSchema
from millrace.connectors.kafka.kafka_source import KafkaSource
from millrace.connectors.kinesis import kinesis_source as kinesis
from millrace.connectors.mongodb.mongodb_streams import MongoSink, MongoSource
from millrace.connectors.rabbitmq import rabbitmq_streams as rabbitmq
from millrace.connectors.redis.redis_sink import FlinkJedisPoolConfig
from millrace.connectors.search.search_builders import Elasticsearch8SinkBuilder
from millrace.datastream.slot_sharing_group import MemorySize, SlotSharingGroup

SERVERS = {"bootstrap.servers": "nowhere:1", "group.id": "shop"}


def cdc(builder: Any) -> Any:
    return (
        builder.hostname("localhost")
        .username("shop")
        .password("secret")
        .table_list("shop.orders")
        .deserializer(RowDebeziumDeserializationSchema())
    )


def postgres(method: str = "", *args: Any) -> Any:
    builder = cdc(PostgresSourceBuilder()).database("shop")
    return (getattr(builder, method)(*args) if method else builder).build()


def mysql(method: str = "", *args: Any) -> Any:
    builder = cdc(MySqlSourceBuilder())
    return (getattr(builder, method)(*args) if method else builder).build()


def mongo_source(method: str = "", *args: Any) -> Any:
    builder = MongoSource.builder().set_uri("mongodb://nowhere").set_database("shop").set_collection("users")
    return (getattr(builder, method)(*args) if method else builder).build()


def mongo_sink(method: str = "", *args: Any) -> Any:
    builder = MongoSink.builder().set_uri("mongodb://nowhere").set_database("shop").set_collection("users")
    builder.set_serialization_schema(lambda element, context: element)
    return (getattr(builder, method)(*args) if method else builder).build()._below


def search(method: str = "", *args: Any) -> Any:
    builder = Elasticsearch8SinkBuilder().set_hosts("https://nowhere:9200").set_emitter(lambda element: None)
    return (getattr(builder, method)(*args) if method else builder).build()._sink


def jdbc(method: str = "", *args: Any) -> Any:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:postgresql://nowhere/shop")
    return (getattr(builder, method)(*args) if method else builder).build().database().target


def rabbit(method: str = "", *args: Any) -> Any:
    builder = rabbitmq.RMQConnectionConfig.Builder().set_host("nowhere").set_port(1).set_virtual_host("shop")
    builder = builder.set_user_name("user").set_password("secret")
    return (getattr(builder, method)(*args) if method else builder).build()


def parameters(config: rabbitmq.RMQConnectionConfig) -> dict[str, Any]:
    """What the driver is given."""
    given: dict[str, Any] = {}

    def note(host: str, port: int, virtual_host: str, credentials: Any, **settings: Any) -> None:
        given.update(settings, host=host, port=port, virtual_host=virtual_host)

    library = SimpleNamespace(
        PlainCredentials=lambda user, password: (user, password),
        ConnectionParameters=note,
        BlockingConnection=lambda parameters: None,
        exceptions=SimpleNamespace(AMQPError=OSError),
        adapters=SimpleNamespace(
            utils=SimpleNamespace(connection_workflow=SimpleNamespace(AMQPConnectorException=OSError))
        ),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rabbitmq, "pika", lambda: library)
        config.connect()
    return given


def redis(method: str = "", *args: Any) -> Any:
    builder = FlinkJedisPoolConfig.Builder().set_host("nowhere")
    return (getattr(builder, method)(*args) if method else builder).build().place


def kafka(method: str = "", *args: Any) -> Any:
    builder = KafkaSource.builder().set_properties(SERVERS).set_topics("orders")
    builder = builder.set_value_only_deserializer(SimpleStringSchema())
    return (getattr(builder, method)(*args) if method else builder).build()


def consumer(method: str = "", *args: Any) -> Any:
    made = FlinkKafkaConsumer("orders", SimpleStringSchema(), SERVERS).set_start_from_earliest()
    return (getattr(made, method)(*args) if method else made)._source


def producer(method: str = "", *args: Any) -> Any:
    made = FlinkKafkaProducer("orders", SimpleStringSchema(), SERVERS)
    return (getattr(made, method)(*args) if method else made)._sink


def config(method: str = "", *args: Any) -> Any:
    made = ExecutionConfig()
    return getattr(made, method)(*args) if method else made


def ttl(method: str = "", *args: Any) -> Any:
    """With other settings than the usual ones, which the method brings back."""
    builder = StateTtlConfig.new_builder(Time.seconds(1)).update_ttl_on_read_and_write()
    builder = builder.return_expired_if_not_cleaned_up()
    return (getattr(builder, method)(*args) if method else builder).build()


def slots(method: str = "", *args: Any) -> Any:
    builder = SlotSharingGroup.builder("heavy").set_cpu_cores(1.0).set_task_heap_memory_mb(10)
    return (getattr(builder, method)(*args) if method else builder).build()


def handler(failure: Any) -> None:
    """Of documents that a server refuses."""


Case = tuple[Callable[..., Any], str, tuple[Any, ...], Callable[[Any], Any], Any]
"""(what makes it, method, arguments, the setting, its value)"""
CASES: tuple[Case, ...] = (
    (postgres, "distribution_factor_upper", (7.0,), lambda made: made.chunking.upper_factor, 7.0),
    (postgres, "distribution_factor_lower", (0.5,), lambda made: made.chunking.lower_factor, 0.5),
    (postgres, "chunk_key_column", ("id",), lambda made: made.chunk_columns, {"": "id"}),
    (postgres, "chunk_key_column", ("id", "shop.orders"), lambda made: made.chunk_columns, {"shop.orders": "id"}),
    (postgres, "scan_newly_added_table_enabled", (True,), lambda made: made.newly_added, True),
    (
        postgres,
        "jdbc_properties",
        ({"sslmode": "require"},),
        lambda made: dict(made.database.settings.target.properties),
        {"sslmode": "require"},
    ),
    (postgres, "connect_timeout", (7.0,), lambda made: made.database.settings.target.timeout, 7.0),
    (postgres, "connect_max_retries", (7,), lambda made: made.database.settings.retries, 7),
    (postgres, "heartbeat_interval", (7.0,), lambda made: made.database.settings.heartbeat, 7.0),
    (postgres, "lsn_commit_checkpoints_delay", (7,), lambda made: made.database.settings.delay, 7),
    (postgres, "slot_wait_timeout", (7.0,), lambda made: made.database.settings.wait, 7.0),
    (mysql, "database_list", ("shop",), lambda made: made.database.settings.databases, ("shop",)),
    (mysql, "server_time_zone", ("Asia/Tokyo",), lambda made: made.database.settings.zone, "Asia/Tokyo"),
    (mysql, "scan_binlog_newly_added_table_enabled", (True,), lambda made: made.database.settings.new_tables, True),
    (mongo_source, "set_no_cursor_timeout", (False,), lambda made: made._reading.no_timeout, False),
    (mongo_source, "set_samples_per_partition", (7,), lambda made: made._reading.splitting.samples, 7),
    (mongo_sink, "set_max_retries", (7,), lambda made: made._buffering.retries, 7),
    (mongo_sink, "set_ordered_writes", (False,), lambda made: made._change.ordered, False),
    (mongo_sink, "set_bypass_document_validation", (True,), lambda made: made._change.bypass_validation, True),
    (search, "set_bulk_flush_max_size_mb", (7,), lambda made: made._settings.max_bytes, 7 << 20),
    (search, "set_bulk_flush_max_size_mb", (-1,), lambda made: made._settings.max_bytes, 0),
    (search, "set_bulk_flush_interval", (7_000,), lambda made: made._settings.interval, 7.0),
    (search, "set_failure_handler", (handler,), lambda made: made._settings.on_failure, handler),
    (search, "set_connection_path_prefix", ("/search/",), lambda made: made._place.prefix, "/search"),
    (search, "set_connection_request_timeout", (7_000,), lambda made: made._place.pool_seconds, 7.0),
    (search, "set_socket_timeout", (7_000,), lambda made: made._place.answer_seconds, 7.0),
    (search, "set_allow_insecure", (True,), lambda made: made._place.insecure, True),
    (search, "set_certificate_fingerprint", ("ab" * 32,), lambda made: made._place.fingerprint, "ab" * 32),
    (search, "set_bearer_token", ("secret",), lambda made: made._place.bearer_token, "secret"),
    (jdbc, "with_connection_check_timeout_seconds", (7,), lambda made: made.timeout, 7),
    (jdbc, "with_property", ("sslmode", "require"), lambda made: dict(made.properties), {"sslmode": "require"}),
    (rabbit, "set_requested_frame_max", (7_000,), lambda made: parameters(made).get("frame_max"), 7_000),
    (rabbit, "set_requested_channel_max", (7,), lambda made: parameters(made).get("channel_max"), 7),
    (rabbit, "set_requested_heartbeat", (7,), lambda made: parameters(made)["heartbeat"], 7),
    (rabbit, "set_connection_timeout", (7_000,), lambda made: parameters(made).get("socket_timeout"), 7.0),
    (rabbit, "set_requested_frame_max", (7_000,), lambda made: made.get_requested_frame_max(), 7_000),
    (rabbit, "set_requested_channel_max", (7,), lambda made: made.get_requested_channel_max(), 7),
    (rabbit, "set_requested_heartbeat", (7,), lambda made: made.get_requested_heartbeat(), 7),
    (rabbit, "set_connection_timeout", (7_000,), lambda made: made.get_connection_timeout(), 7_000),
    (rabbit, "set_topology_recovery_enabled", (True,), lambda made: made.is_topology_recovery(), True),
    (rabbit, "set_automatic_recovery", (True,), lambda made: made.is_automatic_recovery(), True),
    (rabbit, "set_network_recovery_interval", (7_000,), lambda made: made.get_network_recovery_interval(), 7_000),
    (rabbit, "set_prefetch_count", (7,), lambda made: made.get_prefetch_count(), 7),
    (rabbit, "set_virtual_host", ("other",), lambda made: made.get_virtual_host(), "other"),
    (rabbit, "set_uri", ("amqp://nowhere",), lambda made: made.get_uri(), "amqp://nowhere"),
    (redis, "set_ssl", (True,), lambda made: made.login.tls, True),
    (kafka, "set_client_id_prefix", ("shop",), lambda made: made.properties.get("client.id.prefix"), "shop"),
    (
        kafka,
        "set_unbounded",
        (KafkaOffsetsInitializer.latest(),),
        lambda made: (made.stop, made.bounded),
        (KafkaOffsetsInitializer.latest(), False),
    ),
    (
        consumer,
        "set_commit_offsets_on_checkpoints",
        (False,),
        lambda made: made.properties["commit.offsets.on.checkpoint"],
        "false",
    ),
    (consumer, "set_start_from_latest", (), lambda made: made.start, KafkaOffsetsInitializer.latest()),
    (consumer, "set_start_from_timestamp", (7,), lambda made: made.start, KafkaOffsetsInitializer.timestamp(7)),
    (consumer, "set_start_from_group_offsets", (), lambda made: made.start.needs_group, True),
    (producer, "set_flush_on_checkpoint", (False,), lambda made: made.guarantee.name, "NONE"),
    (producer, "set_write_timestamp_to_kafka", (True,), lambda made: made.serializer._with_time, True),
    (config, "enable_force_kryo", (), lambda made: made.is_force_kryo_enabled(), True),
    (config, "enable_force_avro", (), lambda made: made.is_force_avro_enabled(), True),
    (config, "disable_generic_types", (), lambda made: made.has_generic_types_disabled(), True),
    (config, "disable_closure_cleaner", (), lambda made: made.is_closure_cleaner_enabled(), False),
    (
        ttl,
        "update_ttl_on_create_and_write",
        (),
        lambda made: made.get_update_type(),
        StateTtlConfig.UpdateType.OnCreateAndWrite,
    ),
    (
        ttl,
        "never_return_expired",
        (),
        lambda made: made.get_state_visibility(),
        StateTtlConfig.StateVisibility.NeverReturnExpired,
    ),
    (
        slots,
        "set_task_off_heap_memory_mb",
        (7,),
        lambda made: made.get_task_off_heap_memory(),
        MemorySize.of_mebi_bytes(7),
    ),
)


def name_of(case: Case) -> str:
    return f"{case[0].__name__}.{case[1]}"


@corpus("case", CASES, 61)
def test_a_method_reaches_its_setting(case: Case) -> None:
    make, method, args, setting, value = case
    assert setting(make()) != value, "the value is what it is without the call, too"
    assert setting(make(method, *args)) == value


def test_user_and_password_of_a_search_server() -> None:
    builder = Elasticsearch8SinkBuilder().set_hosts("https://nowhere:9200").set_emitter(lambda element: None)
    sink: Any = builder.set_connection_username("user").set_connection_password("secret").build()._sink
    assert (sink._place.username, sink._place.password) == ("user", "secret")


SWITCHES = (
    ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled", True),
    ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled", True),
    ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled", True),
    ("enable_generic_types", "disable_generic_types", "has_generic_types_disabled", False),
    ("enable_auto_generated_uids", "disable_auto_generated_uids", "has_auto_generated_uids_enabled", True),
    ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled", True),
)


@pytest.mark.parametrize(("enable", "disable", "asked", "on"), SWITCHES)
def test_switches_of_the_execution_config(enable: str, disable: str, asked: str, on: bool) -> None:
    made = ExecutionConfig()
    for method, expected in ((enable, on), (disable, not on), (enable, on)):
        assert getattr(getattr(made, method)(), asked)() is expected


WITHOUT_EFFECT: Mapping[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "cdc.include_schema_changes": (lambda: mysql("include_schema_changes", True).database.settings, mysql),
    "redis.set_max_total": (lambda: redis("set_max_total", 7), redis),
    "redis.set_max_idle": (lambda: redis("set_max_idle", 7), redis),
    "redis.set_min_idle": (lambda: redis("set_min_idle", 7), redis),
    "kinesis.default_shard_assigner": (
        kinesis.KinesisShardAssigner.default_shard_assigner,
        kinesis.KinesisShardAssigner.uniform_shard_assigner,
    ),
}


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_what_is_documented_to_change_nothing(name: str) -> None:
    called, plain = WITHOUT_EFFECT[name]
    expected = plain()
    if name.startswith("cdc."):
        assert called() == expected.database.settings
    elif name.startswith("kinesis."):
        assert type(called()) is type(expected)
    else:
        assert called() == expected


def test_methods_that_are_accepted_return_the_builder() -> None:
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data")
    assert files.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner()) is files
    reader = FlinkKafkaConsumer("orders", SimpleStringSchema(), SERVERS)
    assert reader.disable_filter_restored_partitions_with_subscribed_topics() is reader
    writer = FlinkKafkaProducer("orders", SimpleStringSchema(), SERVERS)
    assert writer.set_log_failures_only(False) is writer


def test_values_of_records_alone() -> None:
    made = KafkaRecordDeserializationSchema.value_only(SimpleStringSchema())
    record: Any = SimpleNamespace(key=b"k", value=b"v")
    assert list(made.deserialize(record)) == ["v"]
    assert list(made.deserialize(SimpleNamespace(key=b"k", value=None))) == []  # type: ignore[arg-type]


def test_a_committer_of_cassandra() -> None:
    builder: Any = None
    made = cassandra.CassandraCommitter.default_checkpoint_committer
    assert made(builder, "own") == cassandra.CassandraCommitter("own")
    assert made(builder) == cassandra.CassandraCommitter()


def refused_producer() -> Any:
    return FlinkKafkaProducer("orders", SimpleStringSchema(), SERVERS).set_log_failures_only(True)


def refused_consumer(method: str, *args: Any) -> Callable[[], Any]:
    def call() -> Any:
        properties = {"aws.region": "eu-central-1"}
        return getattr(kinesis.FlinkKinesisConsumer("orders", SimpleStringSchema(), properties), method)(*args)

    return call


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "kafka.set_log_failures_only": (refused_producer, "would lose records"),
    "kinesis.set_periodic_watermark_assigner": (
        refused_consumer("set_periodic_watermark_assigner", None),
        "nearest: env.from_source",
    ),
    "kinesis.set_watermark_tracker": (
        refused_consumer("set_watermark_tracker", kinesis.WatermarkTracker.job_manager_watermark_tracker("group")),
        "with_watermark_alignment",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    call, said = REFUSED[name]
    with pytest.raises(NotImplementedError, match=said):
        call()
