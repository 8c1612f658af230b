# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Conditions for retries of async calls, under PyFlink's path."""

from __future__ import annotations

from millrace.common.functions.async_functions import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]
