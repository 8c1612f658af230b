"""Under PyFlink's path: see ``millrace.table.sessions.table_settings``."""

from millrace.table.sessions.table_settings import SqlDialect

__all__ = ["SqlDialect"]
