"""The future that asynchronous job operations return."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")
"""Type of the result."""


class CompletableFuture(Generic[T]):
    """A result that may not be there yet.

    ``future`` is what completes it (None: a fresh one, completed by whoever holds ``future()``); ``py_class``, when
    given, converts its result.

        >>> future = CompletableFuture.of(3)
        >>> future.done(), future.result()
        (True, 3)
    """

    def __init__(
        self, future: concurrent.futures.Future[Any] | None = None, py_class: Callable[[Any], T] | None = None
    ) -> None:
        self._future: concurrent.futures.Future[Any] = concurrent.futures.Future() if future is None else future
        self._py_class = py_class

    @staticmethod
    def of(value: T) -> CompletableFuture[T]:
        """A future that is already completed with ``value``."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        future.set_result(value)
        return CompletableFuture(future)

    def future(self) -> concurrent.futures.Future[Any]:
        """The standard library's future underneath, for ``asyncio.wrap_future`` and callbacks."""
        return self._future

    def cancel(self) -> bool:
        """Try to cancel; whether the future is cancelled now.

            >>> CompletableFuture.of(3).cancel()
            False
        """
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether it completed in any way: with a result, with an exception, or by cancellation."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result, at most ``timeout`` seconds; raises what the operation raised."""
        value = self._future.result(timeout)
        return value if self._py_class is None else self._py_class(value)

    def exception(self) -> BaseException | None:
        """The exception it completed with; None when there is none or it is not done. Does not wait."""
        if not self._future.done():
            return None
        if self._future.cancelled():
            return concurrent.futures.CancelledError()
        return self._future.exception()

    def __str__(self) -> str:
        if not self.done():
            state = "Not completed"
        elif self.exception() is None:
            state = "Completed normally"
        else:
            state = "Completed exceptionally"
        return f"CompletableFuture[{state}]"
