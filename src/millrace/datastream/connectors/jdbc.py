"""Databases under PyFlink's names; the code is in ``millrace.connectors.jdbc``."""

from __future__ import annotations

from millrace.connectors.jdbc.settings import JdbcConnectionOptions, JdbcExactlyOnceOptions, JdbcExecutionOptions
from millrace.connectors.jdbc.streams import JdbcSink, JdbcSinkBuilder

__all__ = ["JdbcConnectionOptions", "JdbcExactlyOnceOptions", "JdbcExecutionOptions", "JdbcSink", "JdbcSinkBuilder"]
