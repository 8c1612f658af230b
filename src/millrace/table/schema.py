"""Under PyFlink's path: see ``millrace.table.catalogs.schema``."""

from millrace.table.catalogs.schema import Schema

__all__ = ["Schema"]
