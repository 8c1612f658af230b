"""Under PyFlink's path: see ``millrace.table.sessions.table_settings``."""

from millrace.table.sessions.table_settings import ChangelogMode

__all__ = ["ChangelogMode"]
