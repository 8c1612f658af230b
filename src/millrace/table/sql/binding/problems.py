"""Refusing a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from millrace.table.sql import nodes
from millrace.table.sql.errors import SqlValidationError
from millrace.table.sql.names import Name, Path


def fail(where: nodes.Node | Name | Path | None, message: str) -> NoReturn:
    """Refuse a query because of this part of it: the error shows where it stands."""
    if isinstance(where, (Name, Path)):
        raise SqlValidationError(message, where.position)
    raise SqlValidationError.at(where, message)


@contextmanager
def reported(tree: nodes.Node) -> Iterator[None]:
    """What a rule refuses (it knows of no text) is reported at this part of a query."""
    try:
        yield
    except NotImplementedError as error:
        raise SqlValidationError.at(tree, str(error)) from error
