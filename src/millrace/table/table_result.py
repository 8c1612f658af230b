# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``CloseableIterator`` and ``TableResult``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.sessions.table_result import CloseableIterator, TableResult

__all__ = [
    "CloseableIterator",
    "TableResult",
]
