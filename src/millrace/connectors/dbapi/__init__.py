"""Databases as sinks, through any driver that follows PEP 249 (DB-API 2.0)."""

from __future__ import annotations

from millrace.connectors.dbapi.changes import DbApiInsert, DbApiUpsert
from millrace.connectors.dbapi.exactly_once import DbApiExactlyOnceSink
from millrace.connectors.dbapi.sink import DbApiSink

__all__ = ["DbApiExactlyOnceSink", "DbApiInsert", "DbApiSink", "DbApiUpsert"]
