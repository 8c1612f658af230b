"""Connectors of others for Flink that Millrace does not have, each with what is nearest here."""

from __future__ import annotations

_DEBEZIUM = "let {} send its changes to Kafka, and read them with 'connector' = 'kafka' and a format of changes"
_LAKE = (
    "'connector' = 'spark', 'format' = '{0}', once Spark has the package of {0} (spark.jars.packages): it is read as "
    "it is when the query begins, and written in batch mode"
)
_FILES = "'connector' = 'filesystem' over its files, 'format' = 'parquet' or 'orc'"
_LOADED = "write files with 'connector' = 'filesystem' and load these, or a sink in Python (millrace.common.sink.Sink)"
_DRIVER = "'connector' = 'jdbc' with a URL jdbc:{}: and the jar of its driver (pipeline.jars)"
_PYTHON = "a source or sink in Python (millrace.common.source.Source, millrace.common.sink.Sink), or a bridge to Kafka"

NEAREST = {
    **{name: _LAKE.format(name) for name in ("iceberg", "delta", "hudi", "paimon")},
    "table-store": _LAKE.format("paimon"),
    "fluss": _PYTHON,
    "hive": _FILES,
    "doris": _LOADED,
    "starrocks": _LOADED,
    "snowflake": _DRIVER.format("snowflake"),
    "bigquery": _LOADED,
    "redshift": _DRIVER.format("redshift"),
    "kudu": _LOADED,
    "polardbx-cdc": _DEBEZIUM.format("its server"),
    "gaussdb-cdc": _DEBEZIUM.format("its server"),
    **dict.fromkeys(
        ("pulsar", "pravega", "rocketmq", "pubsub", "gcp-pubsub", "sqs", "dynamodb", "dynamodb-streams", "eventhubs"),
        _PYTHON,
    ),
    "prometheus": "a sink in Python (millrace.common.sink.Sink)",
    "neo4j": "a sink in Python (millrace.common.sink.Sink)",
    "faker": "'connector' = 'datagen'",
    "upsert-rabbitmq": "'connector' = 'rabbitmq'",
    "websocket": "'connector' = 'socket', or a source in Python (millrace.common.source.Source)",
    "sls": _PYTHON,
    "odps": _FILES,
    "maxcompute": _FILES,
    "hologres": "'connector' = 'jdbc' with a URL of PostgreSQL, whose protocol it speaks; it was not tried",
    "tidb": "'connector' = 'jdbc' with a URL of MySQL, whose protocol it speaks; it was not tried",
    "oceanbase": _DRIVER.format("oceanbase"),
}
"""name of a connector -> the nearest way"""


def nearest(name: str) -> str:
    """What to say of another project's connector: text that goes on with a semicolon; empty: it is not known."""
    found = NEAREST.get(name.strip().lower())
    return "" if found is None else f"; nearest: {found}"
