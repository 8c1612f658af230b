"""Under PyFlink's path: see ``millrace.table.sessions.result_kind``."""

from millrace.table.sessions.result_kind import *  # noqa: F403
from millrace.table.sessions.result_kind import __all__ as __all__
