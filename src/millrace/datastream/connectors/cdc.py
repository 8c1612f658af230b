"""Change data capture, under Flink CDC's names; the code is in ``millrace.connectors.cdc``."""

from __future__ import annotations

from millrace.connectors.cdc.deserializers import (
    DebeziumDeserializationSchema,
    EventDeserializationSchema,
    RowDebeziumDeserializationSchema,
)
from millrace.connectors.cdc.json import JsonDebeziumDeserializationSchema
from millrace.connectors.cdc.mysql.builder import MySqlSource
from millrace.connectors.cdc.postgres.builder import PostgresSourceBuilder
from millrace.connectors.cdc.startup import StartupOptions

__all__ = [
    "DebeziumDeserializationSchema",
    "EventDeserializationSchema",
    "JsonDebeziumDeserializationSchema",
    "MySqlSource",
    "PostgresSourceBuilder",
    "RowDebeziumDeserializationSchema",
    "StartupOptions",
]
