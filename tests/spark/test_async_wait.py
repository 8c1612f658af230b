"""``AsyncDataStream`` in Spark's workers: an event loop in each of them, over several epochs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common import Time, Types
from millrace.datastream import AsyncDataStream, AsyncFunction
from millrace.runtime.coordination.coordinator import JobFailedError


class Lookup(AsyncFunction[int, Any]):
    async def async_invoke(self, value: int) -> list[Any]:
        await asyncio.sleep(0.001 * (value % 3))
        if value == 66:
            raise LookupError(f"{value} is in nobody's list")
        return [(value, threading.current_thread().name.partition(" ")[0])]


@pytest.mark.parametrize("batch", [False, True])
def test_many_at_a_time(environment: MakeEnvironment, watch: Watch, batch: bool) -> None:
    env = environment(2, batch, **({} if batch else {"millrace.epoch.max-records": 10}))
    numbers = env.from_sequence(1, 60)
    ordered = AsyncDataStream.ordered_wait(numbers, Lookup(), Time.minutes(1), 8)
    again = ordered.map(lambda pair: pair[0], Types.LONG())
    found = list(AsyncDataStream.unordered_wait(again, Lookup(), Time.minutes(1)).execute_and_collect())
    assert sorted(found) == [(number, "millrace-async") for number in range(1, 61)]
    assert batch or len(watch.epochs) > 2


def test_a_failure(environment: MakeEnvironment) -> None:
    numbers = environment(1).from_sequence(60, 70)
    with pytest.raises(JobFailedError, match="element: 66") as caught:
        list(AsyncDataStream.ordered_wait(numbers, Lookup(), Time.minutes(1)).execute_and_collect())
    assert "cause:   LookupError: 66 is in nobody's list" in str(caught.value)
