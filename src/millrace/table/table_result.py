"""Under PyFlink's path: see ``millrace.table.sessions.table_result``."""

from millrace.table.sessions.table_result import *  # noqa: F403
from millrace.table.sessions.table_result import __all__ as __all__
