"""Asynchronous scalar functions: many calls at a time, results in the order of the rows.

The calls of one batch run beside each other in an event loop; the batch goes on when all are done. So nothing is in
flight between two epochs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from millrace.common.config_values import to_duration
from millrace.runtime.asynchronous.loop import LoopThread

_OPTION = "table.exec.async-scalar."


@dataclass(frozen=True)
class AsyncSettings:
    """How calls are made; times in seconds."""

    at_once: int = 10
    timeout: float = 180.0
    """for one row with all attempts"""
    attempts: int = 3
    pause: float = 0.1
    """between two attempts"""

    @staticmethod
    def of(configuration: Mapping[str, str]) -> AsyncSettings:
        """From ``table.exec.async-scalar.*``.

        :raises ValueError: an option that is not understood.
        """

        def option(name: str, default: str) -> str:
            return configuration.get(_OPTION + name, default)

        strategy = option("retry-strategy", "FIXED_DELAY").upper()
        if strategy not in ("FIXED_DELAY", "NO_RETRY"):
            raise ValueError(f"{_OPTION}retry-strategy is FIXED_DELAY or NO_RETRY, not {strategy}")
        return AsyncSettings(
            int(option("max-concurrent-operations", option("buffer-capacity", "10"))),
            _seconds(option("timeout", "3 min")),
            int(option("max-attempts", "3")) if strategy == "FIXED_DELAY" else 1,
            _seconds(option("retry-delay", "100 ms")),
        )


def _seconds(text: str) -> float:
    return to_duration(text).to_millis() / 1000


class CallFailed(Exception):
    """A call failed for good; says for which row."""

    def __init__(self, cause: BaseException, args: tuple[Any, ...]) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.arguments = args


def call_all(
    loop: LoopThread, function: Callable[..., Any], rows: Iterable[tuple[Any, ...]], settings: AsyncSettings
) -> list[Any]:
    """The results of the function for each row of arguments, in order.

    :raises CallFailed: all attempts for a row failed, or took too long together.
    """
    return loop.wait_for(_call_all(function, list(rows), settings))  # type: ignore[no-any-return]


async def _call_all(function: Callable[..., Any], rows: list[tuple[Any, ...]], settings: AsyncSettings) -> list[Any]:
    results: list[Any] = [None] * len(rows)
    waiting = iter(enumerate(rows))

    async def work() -> None:
        for place, args in waiting:  # all workers draw from it
            try:
                results[place] = await asyncio.wait_for(_attempts(function, args, settings), settings.timeout)
            except asyncio.TimeoutError:
                raise CallFailed(TimeoutError(f"no result within {settings.timeout:g} s"), args) from None
            except Exception as error:
                raise CallFailed(error, args) from error

    workers = [asyncio.ensure_future(work()) for _ in range(min(settings.at_once, len(rows)))]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
    return results


async def _attempts(function: Callable[..., Any], args: tuple[Any, ...], settings: AsyncSettings) -> Any:
    for attempt in range(1, settings.attempts + 1):
        try:
            return await function(*args)
        except Exception:
            if attempt == settings.attempts:
                raise
        await asyncio.sleep(settings.pause)
    raise AssertionError("there is at least one attempt")
