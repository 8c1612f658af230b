"""Completing futures that may have been cancelled meanwhile: that is nothing to fail a job for."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, InvalidStateError
from typing import TypeVar

T = TypeVar("T")
"""Type of the result."""


def succeed(future: Future[T], result: T) -> None:
    with contextlib.suppress(InvalidStateError):
        future.set_result(result)


def fail(future: Future[T], error: BaseException) -> None:
    with contextlib.suppress(InvalidStateError):
        future.set_exception(error)
