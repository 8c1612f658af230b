"""Under PyFlink's path: see ``millrace.table.expression_methods.expression``."""

from millrace.table.expression_methods.expression import ResolvedExpression

__all__ = ["ResolvedExpression"]
