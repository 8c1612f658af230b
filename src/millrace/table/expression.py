# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Expressions, and the enumerations that their methods take, under PyFlink's path."""

from __future__ import annotations

from millrace.table.expression_methods.expression import Expression
from millrace.table.expression_methods.expression_base import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]
