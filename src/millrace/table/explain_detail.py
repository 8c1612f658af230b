"""Under PyFlink's path: see ``millrace.table.sessions.table_settings``."""

from millrace.table.sessions.table_settings import ExplainDetail

__all__ = ["ExplainDetail"]
