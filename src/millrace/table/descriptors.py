"""Under PyFlink's path: see ``millrace.table.catalogs.legacy_schema``."""

from __future__ import annotations

from millrace.table.catalogs.legacy_schema import Descriptor, Rowtime, Schema

__all__ = ["Descriptor", "Rowtime", "Schema"]
