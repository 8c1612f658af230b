"""Under PyFlink's path: see ``millrace.table.descriptions.table_schema``."""

from millrace.table.descriptions.table_schema import *  # noqa: F403
from millrace.table.descriptions.table_schema import __all__ as __all__
