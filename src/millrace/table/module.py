"""Under PyFlink's path: see ``millrace.table.functions.module``."""

from millrace.table.functions.module import *  # noqa: F403
from millrace.table.functions.module import __all__ as __all__
