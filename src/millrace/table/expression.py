"""Under PyFlink's path: see ``millrace.table.expression_methods.expression``."""

from millrace.table.expression_methods.expression import *  # noqa: F403
from millrace.table.expression_methods.expression import __all__ as __all__
