"""Under PyFlink's path: see ``millrace.table.sessions.table_settings``."""

from millrace.table.sessions.table_settings import TableConfig

__all__ = ["TableConfig"]
