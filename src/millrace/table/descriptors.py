# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``Descriptor``, ``Rowtime`` and ``Schema``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.catalogs.legacy_schema import Descriptor, Rowtime, Schema

__all__ = [
    "Descriptor",
    "Rowtime",
    "Schema",
]
