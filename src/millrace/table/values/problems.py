"""Errors of table programs: what is wrong, in which line of the user's program, what was perhaps meant."""

from __future__ import annotations

from millrace.graph.origin import user_origin
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean as did_you_mean


def problem(message: str) -> TableException:
    """The exception to raise, with the user's file and line in front."""
    return TableException(f"{user_origin()}: {message}")
