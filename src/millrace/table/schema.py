# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``Schema``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.catalogs.objects import Schema

__all__ = [
    "Schema",
]
