# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``SqlDialect``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.sessions.session import SqlDialect

__all__ = [
    "SqlDialect",
]
