# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``ResultKind``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.sessions.table_result import ResultKind

__all__ = [
    "ResultKind",
]
