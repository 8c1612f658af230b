"""One element's call, tried again as the retry strategy says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from millrace.common.functions import AsyncFunction, AsyncRetryStrategy
from millrace.runtime.failure import shorten


class Attempts:
    """Calls ``async_invoke`` until its outcome is one to keep. One object serves all elements."""

    def __init__(self, function: AsyncFunction[Any, Any], strategy: AsyncRetryStrategy[Any]) -> None:
        self._function = function
        self._strategy = strategy
        predicate = strategy.get_retry_predicate()
        self._bad_result = predicate.result_predicate()
        self._bad_error = predicate.exception_predicate()

    async def results(self, value: Any) -> list[Any]:
        """The results of the last attempt; raises what it raised."""
        attempt = 1
        while True:
            try:
                results = await self._function.async_invoke(value)
            except Exception as error:
                if self._bad_error is None or not self._bad_error(error):
                    raise
                pause = self._pause(attempt)
                if pause is None:
                    raise
            else:
                # As in Flink, the predicate is not asked about None, which is no result at all.
                if self._bad_result is None or results is None or not self._bad_result(results):
                    return as_results(results, "async_invoke", self._function)
                pause = self._pause(attempt)
                if pause is None:
                    return as_results(results, "async_invoke", self._function)
            await asyncio.sleep(pause)
            attempt += 1

    def _pause(self, attempt: int) -> float | None:
        """Seconds until the next attempt, None if there is to be none."""
        if not self._strategy.can_retry(attempt):
            return None
        millis = self._strategy.get_backoff_time_millis(attempt)
        return millis / 1000 if millis >= 0 else None


def as_results(results: Any, method: str, function: AsyncFunction[Any, Any]) -> list[Any]:
    """What a method of the user gave, as a list; raises ``TypeError`` if it is none and can't be meant as one."""
    if isinstance(results, list):
        return results
    if isinstance(results, Iterable) and not isinstance(results, (str, bytes)):
        return list(results)
    given = "None" if results is None else f"{type(results).__name__} {shorten(results)}"
    problem = "cannot be none" if results is None else "should be of list type"
    raise TypeError(
        f"The result of AsyncFunction {problem}: {method}() of {type(function).__name__} must return a list of results "
        f"([] for none), not {given}"
    )
