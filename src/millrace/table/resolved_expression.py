"""Under PyFlink's path: see ``millrace.table.expression_methods.resolved_expression``."""

from millrace.table.expression_methods.resolved_expression import *  # noqa: F403
from millrace.table.expression_methods.resolved_expression import __all__ as __all__
