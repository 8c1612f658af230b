# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``TableSchema``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.catalogs.legacy_schema import TableSchema

__all__ = [
    "TableSchema",
]
