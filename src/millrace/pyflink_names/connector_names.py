"""The names of ``pyflink.datastream.connectors`` and ``formats``, and connectors that PyFlink lacks."""

from __future__ import annotations

from millrace.pyflink_names.public_module import PublicModule

_SOURCE = "a source written in Python (millrace.common.source.Source)"
_SINK = "a sink written in Python (millrace.common.sink.Sink)"
_DYNAMODB = "KinesisStreamsSource on a stream of Kinesis that DynamoDB sends its changes to"

CONNECTOR_NAMES: dict[str, PublicModule] = {
    "datastream.connectors": PublicModule(
        "Connectors under PyFlink's names. The old names of this package itself (``connectors.FileSink``) work too.",
        here={
            "common.sink": "Sink",
            "common.source": "Source",
            "connectors.sink_base": "DeliveryGuarantee",
        },
        not_yet={
            _SOURCE: "PulsarSource PulsarSourceBuilder StartCursor StopCursor",
            _DYNAMODB: "FlinkDynamoDBStreamsConsumer",
        },
        older={
            "legacy.connectors": """
                FlinkKafkaConsumer08 FlinkKafkaConsumer09 FlinkKafkaConsumer010 FlinkKafkaConsumer011
                FlinkKafkaProducer08 FlinkKafkaProducer09 FlinkKafkaProducer010 FlinkKafkaProducer011
            """,
        },
        late={
            "connectors.generated_sources": "NumberSequenceSource DataGeneratorSource",
            "connectors.jdbc.jdbc_sink": "JdbcSink JdbcConnectionOptions JdbcExecutionOptions",
            "connectors.kafka.kafka_source": "KafkaSource",
            "connectors.kafka.kafka_legacy": "FlinkKafkaConsumer FlinkKafkaProducer Semantic",
            "connectors.kafka.dynamic_kafka_source": "DynamicKafkaSource DynamicKafkaSourceBuilder",
            "connectors.kafka.dynamic_kafka_enumerator": """
                KafkaMetadataService KafkaStreamSetSubscriber KafkaStreamSubscriber StreamPatternSubscriber
                SingleClusterTopicMetadataService
            """,
            "connectors.kafka.kafka_records": "KafkaRecordDeserializationSchema",
            "connectors.rabbitmq.rabbitmq_streams": "RMQSource RMQSink RMQConnectionConfig",
            "connectors.file_system.part_policies": "BucketAssigner OutputFileConfig RollingPolicy",
            "connectors.file_system.file_listing": "FileEnumeratorProvider FileSplitAssignerProvider",
            "connectors.file_system.file_sink": "FileSink StreamingFileSink",
            "connectors.file_system.file_source": "FileSource FileSourceBuilder",
            "connectors.file_system.file_format": "StreamFormat",
        },
    ),
    "datastream.connectors.base": PublicModule(
        "The bases of sources and sinks under PyFlink's names.",
        here={
            "common.source": "Source",
            "common.sink": "Sink",
            "connectors.sink_base": "DeliveryGuarantee StreamTransformer SupportsPreprocessing",
        },
    ),
    "datastream.connectors.cassandra": PublicModule(
        "Cassandra under PyFlink's names; the code is in ``millrace.connectors.cassandra``.",
        here={
            "connectors.cassandra.cassandra_streams": """
                CassandraCommitter CassandraFailureHandler CassandraSink ClusterBuilder ConsistencyLevel
            """,
        },
        not_yet={"a query with its own USING TTL (CassandraSinkBuilder.set_query)": "MapperOptions"},
    ),
    "datastream.connectors.cdc": PublicModule(
        "Change data capture, under Flink CDC's names; the code is in ``millrace.connectors.cdc``.",
        here={
            "connectors.cdc.deserializers": """
                DebeziumDeserializationSchema EventDeserializationSchema RowDebeziumDeserializationSchema
            """,
            "connectors.cdc.debezium_json": "JsonDebeziumDeserializationSchema",
            "connectors.cdc.mysql.mysql_source": "MySqlSource",
            "connectors.cdc.postgres.postgres_source": "PostgresSourceBuilder",
            "connectors.cdc.database": "StartupOptions",
        },
    ),
    "datastream.connectors.datagen": PublicModule(
        "``DataGeneratorSource``, which PyFlink lacks; the code is in ``millrace.connectors.generated_sources``.",
        here={
            "connectors.generated_sources": "DataGeneratorSource GeneratorFunction RateLimiterStrategy",
        },
    ),
    "datastream.connectors.dynamic_kafka": PublicModule(
        "The dynamic Kafka source under PyFlink's names.",
        here={
            "connectors.kafka.dynamic_kafka_enumerator": """
                ClusterMetadata KafkaMetadataService KafkaStream KafkaStreamSetSubscriber KafkaStreamSubscriber
                SingleClusterTopicMetadataService StreamPatternSubscriber
            """,
            "connectors.kafka.dynamic_kafka_source": "DynamicKafkaSource DynamicKafkaSourceBuilder",
            "connectors.kafka.kafka_records": "KafkaRecordDeserializationSchema",
        },
    ),
    "datastream.connectors.elasticsearch": PublicModule(
        "Elasticsearch under PyFlink's names; the code is in ``millrace.connectors.search``.",
        here={
            "connectors.search.search_builders": """
                FlushBackoffType ElasticsearchEmitter ElasticsearchSinkBuilderBase Elasticsearch6SinkBuilder
                Elasticsearch7SinkBuilder Elasticsearch8SinkBuilder ElasticsearchSink Index Create Update Delete
            """,
        },
    ),
    "datastream.connectors.file_system": PublicModule(
        "Files under PyFlink's names; the code is in ``millrace.connectors.file_system``.",
        here={
            "connectors.file_system.file_committer": "FileCompactor FileCompactStrategy",
            "connectors.file_system.part_policies": """
                OutputFileConfig RollingPolicy DefaultRollingPolicy CheckpointRollingPolicy OnCheckpointRollingPolicy
                PartFileInfo BucketAssigner
            """,
            "connectors.file_system.file_source": "FileSource FileSourceBuilder",
            "connectors.file_system.file_sink": "FileSink StreamingFileSink",
            "connectors.file_system.file_format": "StreamFormat BulkFormat",
            "connectors.file_system.file_listing": "FileEnumeratorProvider FileSplitAssignerProvider",
        },
    ),
    "datastream.connectors.http": PublicModule(
        "Sources and sinks for HTTP services; the code is in ``millrace.connectors.http``. Not in PyFlink.",
        here={
            "connectors.http.http_client": "HttpAnswer HttpAsyncFunction HttpError HttpRequest",
            "connectors.http.http_sink": "HttpSink HttpSinkBuilder",
        },
    ),
    "datastream.connectors.hybrid_source": PublicModule(
        "``HybridSource`` under PyFlink's names; the code is in ``millrace.connectors.hybrid``.",
        here={"connectors.hybrid": "HybridSource HybridSourceBuilder"},
    ),
    "datastream.connectors.influxdb": PublicModule(
        "InfluxDB in the words of Bahir's connector; the code is in ``millrace.connectors.influxdb``.",
        here={
            "connectors.influxdb.influxdb_streams": """
                InfluxDBConfig InfluxDBConfigBuilder InfluxDBPoint InfluxDBSink
            """,
        },
    ),
    "datastream.connectors.jdbc": PublicModule(
        "Databases under PyFlink's names; the code is in ``millrace.connectors.jdbc``.",
        here={
            "connectors.jdbc.jdbc_sink": """
                JdbcConnectionOptions JdbcExactlyOnceOptions JdbcExecutionOptions JdbcSink JdbcSinkBuilder
            """,
        },
    ),
    "datastream.connectors.kafka": PublicModule(
        "Kafka under PyFlink's names; the code is in ``millrace.connectors.kafka``.",
        here={
            "connectors.kafka.kafka_legacy": """
                FlinkKafkaConsumer FlinkKafkaConsumerBase FlinkKafkaProducer FlinkKafkaProducerBase Semantic
            """,
            "connectors.kafka.kafka_source": "KafkaSource KafkaSourceBuilder",
            "connectors.kafka.kafka_sink": "KafkaSink KafkaSinkBuilder",
            "connectors.kafka.kafka_offsets": "KafkaTopicPartition KafkaOffsetsInitializer KafkaOffsetResetStrategy",
            "connectors.kafka.kafka_records": """
                KafkaRecordSerializationSchema KafkaRecordSerializationSchemaBuilder KafkaTopicSelector ConsumerRecord
                FlinkFixedPartitioner KafkaPartitioner KafkaRecordDeserializationSchema ProducerRecord
                RecordSerializer RoundRobinPartitioner
            """,
        },
        unlisted={"connectors.sink_base": "DeliveryGuarantee"},
        older={
            "legacy.connectors": """
                FlinkKafkaConsumer08 FlinkKafkaConsumer09 FlinkKafkaConsumer010 FlinkKafkaConsumer011
                FlinkKafkaProducer08 FlinkKafkaProducer09 FlinkKafkaProducer010 FlinkKafkaProducer011
            """,
        },
    ),
    "datastream.connectors.kinesis": PublicModule(
        "Kinesis and Firehose under PyFlink's names, and the sources that it lacks.",
        here={
            "connectors.kinesis.kinesis_source": """
                FlinkKinesisConsumer KinesisDeserializationSchema KinesisShardAssigner KinesisStreamsSource
                WatermarkTracker
            """,
            "connectors.kinesis.kinesis_sink": """
                KinesisFirehoseSink KinesisFirehoseSinkBuilder KinesisStreamsSink KinesisStreamsSinkBuilder
                PartitionKeyGenerator
            """,
        },
        not_yet={_DYNAMODB: "FlinkDynamoDBStreamsConsumer"},
    ),
    "datastream.connectors.mongodb": PublicModule(
        "MongoDB in PyFlink's spelling of Flink's Java classes; the code is in ``millrace.connectors.mongodb``.",
        here={
            "connectors.mongodb.mongodb_streams": """
                MongoDeserializationSchema MongoSerializationSchema MongoSink MongoSinkBuilder MongoSource
                MongoSourceBuilder PartitionStrategy
            """,
        },
    ),
    "datastream.connectors.mqtt": PublicModule(
        "Sources and sinks for MQTT. Not in PyFlink.",
        here={"connectors.mqtt.mqtt_streams": "MqttSink MqttSource"},
    ),
    "datastream.connectors.nats": PublicModule(
        "Sources and sinks for NATS JetStream. Not in PyFlink.",
        here={"connectors.nats.nats_streams": "JetStreamSink JetStreamSource"},
    ),
    "datastream.connectors.number_seq": PublicModule(
        "``NumberSequenceSource`` under PyFlink's name; the code is in ``millrace.connectors.generated_sources``.",
        here={"connectors.generated_sources": "NumberSequenceSource"},
    ),
    "datastream.connectors.opensearch": PublicModule(
        "OpenSearch, under names as Flink's in Java; the code is in ``millrace.connectors.search``.",
        here={
            "connectors.search.search_builders": """
                FlushBackoffType OpensearchEmitter=ElasticsearchEmitter OpensearchSink OpensearchSinkBuilder Index
                Create Update Delete
            """,
        },
    ),
    "datastream.connectors.pulsar": PublicModule(
        "Pulsar: a connector that is not in Millrace yet.",
        not_yet={
            _SOURCE: "StartCursor StopCursor RangeGenerator PulsarSource PulsarSourceBuilder",
            _SINK: "TopicRoutingMode MessageDelayer PulsarSink PulsarSinkBuilder",
        },
    ),
    "datastream.connectors.rabbitmq": PublicModule(
        "RabbitMQ under PyFlink's names.",
        here={"connectors.rabbitmq.rabbitmq_streams": "RMQConnectionConfig RMQSink RMQSource"},
    ),
    "datastream.connectors.redis": PublicModule(
        "Redis: streams, channels, and commands with the names of Bahir's connector. Not in PyFlink.",
        here={
            "connectors.redis.redis_sink": """
                FlinkJedisClusterConfig FlinkJedisConfigBase FlinkJedisPoolConfig FlinkJedisSentinelConfig
                RedisCommand RedisCommandDescription RedisDataType RedisMapper RedisSink
            """,
            "connectors.redis.redis_streams": "RedisPubSubSink RedisPubSubSource RedisStreamSink RedisStreamSource",
        },
    ),
    "datastream.formats": PublicModule(),
    "datastream.formats.avro": PublicModule(
        "Avro under PyFlink's names; the code is in ``millrace.formats``.",
        here={
            "formats.avro": """
                AvroSchema GenericRecordAvroTypeInfo AvroInputFormat AvroBulkWriters AvroRowDeserializationSchema
                AvroRowSerializationSchema
            """,
        },
    ),
    "datastream.formats.csv": PublicModule(
        "CSV under PyFlink's names; the code is in ``millrace.formats.csv``.",
        here={
            "formats.csv_schema": "CsvSchema CsvSchemaBuilder",
            "formats.csv": "CsvReaderFormat CsvBulkWriters CsvRowDeserializationSchema CsvRowSerializationSchema",
        },
    ),
    "datastream.formats.json": PublicModule(
        "JSON under PyFlink's names; the code is in ``millrace.formats.json``.",
        here={
            "formats.json": """
                JsonRowDeserializationSchema JsonRowSerializationSchema JsonLinesEncoder JsonLinesFormat
            """,
        },
    ),
    "datastream.formats.orc": PublicModule(
        "ORC under PyFlink's names; the code is in ``millrace.formats.orc``.",
        here={"formats.orc": "OrcBulkWriters"},
    ),
    "datastream.formats.parquet": PublicModule(
        "Parquet under PyFlink's names; the code is in ``millrace.formats``.",
        here={
            "formats.avro_parquet": "AvroParquetReaders AvroParquetWriters",
            "formats.parquet": "ParquetColumnarRowInputFormat ParquetBulkWriters",
        },
    ),
}
