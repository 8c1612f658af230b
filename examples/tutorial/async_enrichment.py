"""Clicks learn where their user lives: a directory is asked, about many clicks at a time.

The directory is a stand-in for a service: it takes a moment to answer, is too busy for every third question, and does
not know everybody. Results come in the order of the clicks; ``unordered_wait_with_retry`` would not wait for that.
"""

from __future__ import annotations

import asyncio

from fixture import Click, clicks

from millrace.common import Time, Types
from millrace.datastream import AsyncDataStream, AsyncFunction, DataStream, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.async_retry_strategies import FixedDelayRetryStrategy

CITIES = {"Mary": "Paris", "Bob": "Lima"}


class Busy(Exception):
    """Ask again later."""


class Directory:
    """A client as libraries have them: it belongs to the event loop that it was made in."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.questions = 0

    async def city_of(self, user: str) -> str | None:
        assert asyncio.get_running_loop() is self.loop
        self.questions += 1
        question = self.questions
        await asyncio.sleep(0.001)
        if question % 3 == 0:
            raise Busy(f"too busy for question {question}")
        return CITIES.get(user)

    async def disconnect(self) -> None:
        await asyncio.sleep(0)


class AddCity(AsyncFunction[Click, str]):
    # Coroutines, so that they run where async_invoke will: that is where the client has to be made.
    async def open(self, runtime_context: RuntimeContext) -> None:  # type: ignore[override]
        self.directory = Directory()

    async def async_invoke(self, value: Click) -> list[str]:
        city = await self.directory.city_of(value.user)
        return [f"{value.user} from {city or 'somewhere'} looked into the cart at {value.timestamp}"]

    def timeout(self, value: Click) -> list[str]:
        return [f"{value.user} looked into the cart at {value.timestamp}, and the directory said nothing"]

    async def close(self) -> None:  # type: ignore[override]
        await self.directory.disconnect()


def build(env: StreamExecutionEnvironment) -> DataStream:
    carts = clicks(env).filter(lambda click: click.url == "./cart")
    retry = FixedDelayRetryStrategy[str](10, 5, None, lambda error: isinstance(error, Busy))
    return AsyncDataStream.ordered_wait_with_retry(carts, AddCity(), Time.minutes(1), retry, 20, Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("async enrichment")


if __name__ == "__main__":
    main()
