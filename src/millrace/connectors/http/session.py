"""Calls from a thread that waits for them: an event loop that runs only meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from millrace.connectors.http.caller import Caller
from millrace.connectors.http.settings import CallSettings

A = TypeVar("A")
T = TypeVar("T")


class Session:
    """
    :param in_flight: calls that may be under way at once.
    """

    def __init__(self, settings: CallSettings, in_flight: int) -> None:
        self._in_flight = in_flight
        self._caller = Caller(settings, in_flight)
        self._loop = asyncio.new_event_loop()
        try:
            self._loop.run_until_complete(self._caller.open())
        except BaseException:
            self._loop.close()
            raise

    def all(self, work: Callable[[Caller, A], Coroutine[Any, Any, T]], items: Iterable[A]) -> list[T]:
        """What ``work`` gives for each item, in their order. The first error ends all."""
        return self._loop.run_until_complete(self._all(work, items))

    async def _all(self, work: Callable[[Caller, A], Coroutine[Any, Any, T]], items: Iterable[A]) -> list[T]:
        room = asyncio.Semaphore(self._in_flight)

        async def one(item: A) -> T:
            async with room:
                return await work(self._caller, item)

        tasks = [asyncio.ensure_future(one(item)) for item in items]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._caller.close())
            self._loop.close()
