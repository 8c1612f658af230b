# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Change data capture, under Flink CDC's names; the code is in ``millrace.connectors.cdc``."""

from __future__ import annotations

from millrace.connectors.cdc.database import StartupOptions
from millrace.connectors.cdc.debezium_json import JsonDebeziumDeserializationSchema
from millrace.connectors.cdc.deserializers import (
    DebeziumDeserializationSchema,
    EventDeserializationSchema,
    RowDebeziumDeserializationSchema,
)
from millrace.connectors.cdc.mysql.mysql_source import MySqlSource
from millrace.connectors.cdc.postgres.postgres_source import PostgresSourceBuilder

__all__ = [
    "DebeziumDeserializationSchema",
    "EventDeserializationSchema",
    "RowDebeziumDeserializationSchema",
    "JsonDebeziumDeserializationSchema",
    "MySqlSource",
    "PostgresSourceBuilder",
    "StartupOptions",
]
