"""Under PyFlink's path: see ``millrace.table.settings.sql_dialect``."""

from millrace.table.settings.sql_dialect import *  # noqa: F403
from millrace.table.settings.sql_dialect import __all__ as __all__
