"""Errors of table programs: what is wrong, in which line of the user's program, what was perhaps meant."""

from __future__ import annotations

from millrace.graph.origin import user_origin
from millrace.util.exceptions import TableException
from millrace.util.java_errors import CaughtAsJavaError
from millrace.util.similar import did_you_mean as did_you_mean


def problem(message: str) -> TableException:
    """The exception to raise, with the user's file and line in front."""
    return TableProgramError(f"{user_origin()}: {message}")


class TableProgramError(TableException, CaughtAsJavaError):
    """A table program is wrong; PyFlink has a ``TableException`` of some of it, a ``Py4JJavaError`` of the rest."""


class TableValueError(TableException, ValueError):
    """A value does not fit: PyFlink raises a ValueError where it looks at values itself."""


class TableTypeError(TableException, TypeError):
    """A value is of a wrong kind: PyFlink raises a TypeError where it looks at values itself."""


def value_problem(message: str) -> TableException:
    """Like ``problem``, and a ``ValueError``."""
    return TableValueError(f"{user_origin()}: {message}")


def type_problem(message: str) -> TableException:
    """Like ``problem``, and a ``TypeError``."""
    return TableTypeError(f"{user_origin()}: {message}")
