"""Errors of formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.formats.tables.options import Options
from millrace.relational.types import DataType

_SHOWN = 200


class NoForm(TypeError):
    """A format has no form for the values of a type; the message says for which and why."""


def check_types(options: Options, make: Callable[[DataType], Any]) -> None:
    """See that a format has a form for all columns of its table.

    :param make: raises ``NoForm`` for a type.
    :raises TableException: names the first column that it has none for.
    """
    for column in options.table.columns:
        try:
            make(column.type)
        except NoForm as error:
            raise options.problem(f"format '{options.format}', column '{column.name}': {error}") from error


def malformed(table: str, number: int, message: bytes, reason: object) -> ValueError:
    """The error for a message; ``number`` counts from 0."""
    shown = repr(message[:_SHOWN])[2:-1] + ("..." if len(message) > _SHOWN else "")
    return ValueError(f"table {table}: message {number} is malformed: {reason}. It is: {shown}")
