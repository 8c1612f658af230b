# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``TableConfig``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.sessions.session import TableConfig

__all__ = [
    "TableConfig",
]
