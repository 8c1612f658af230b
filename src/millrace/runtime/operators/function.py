"""What all operators around one user function share: its life from open to close."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from millrace.datastream.functions import Function
from millrace.runtime.operators.base import Operator

F = TypeVar("F", bound=Function)
"""Type of the user function."""


class FunctionOperator(Operator, Generic[F]):
    """Opens and closes ``function`` with the operator."""

    def __init__(self, function: F) -> None:
        self.function = function
        self._opened = False

    def open(self) -> None:
        try:
            self.function.open(self.context.runtime)
        except Exception as error:
            raise self.context.error(error, during=" in open()") from error
        self._opened = True

    def close(self) -> None:
        if not self._opened:
            return
        self._opened = False
        try:
            self.function.close()
        except Exception as error:
            raise self.context.error(error, during=" in close()") from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name(self.function)})"


def _name(function: Any) -> str:
    return type(function).__name__
