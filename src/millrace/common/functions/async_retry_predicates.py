"""Ready-made conditions for trying an async call again."""

from __future__ import annotations

from typing import Any

__all__ = ["empty_result_predicate", "has_exception_predicate", "exception_type_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Try again after no result or an empty one."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Try again after any exception."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Try again after an exception of this type. Bind the type first, by a lambda or ``functools.partial``."""
    return isinstance(error, expected_error_type)
