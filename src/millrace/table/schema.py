"""Under PyFlink's path: see ``millrace.table.descriptions.schema``."""

from millrace.table.descriptions.schema import *  # noqa: F403
from millrace.table.descriptions.schema import __all__ as __all__
