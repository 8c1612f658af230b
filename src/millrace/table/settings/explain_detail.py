"""What EXPLAIN adds to the plans."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExplainDetail"]


class ExplainDetail(Enum):
    """A detail of EXPLAIN.

        >>> print(orders.explain(ExplainDetail.CHANGELOG_MODE).splitlines()[0])
        == Abstract Syntax Tree ==
    """

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    """kinds of change that every operator gives"""
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
