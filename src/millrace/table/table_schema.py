"""Under PyFlink's path: see ``millrace.table.catalogs.legacy_schema``."""

from millrace.table.catalogs.legacy_schema import TableSchema

__all__ = ["TableSchema"]
