# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Databases under PyFlink's names; the code is in ``millrace.connectors.jdbc``."""

from __future__ import annotations

from millrace.connectors.jdbc.jdbc_sink import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSinkBuilder,
)

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExactlyOnceOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "JdbcSinkBuilder",
]
