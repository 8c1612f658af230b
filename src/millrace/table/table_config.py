"""Under PyFlink's path: see ``millrace.table.settings.table_config``."""

from millrace.table.settings.table_config import *  # noqa: F403
from millrace.table.settings.table_config import __all__ as __all__
