# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``ResolvedExpression``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.expression_methods.expression import ResolvedExpression

__all__ = [
    "ResolvedExpression",
]
