"""``MarkedBatches``: what an epoch wrote and the name of that, in one transaction of Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millrace.connectors.redis.connection import telling
from millrace.connectors.redis.places import RedisPlace
from millrace.connectors.write_ahead import Batch, BatchSender

MARK_SECONDS = 7 * 24 * 60 * 60
"""how long the server remembers which batches it has"""


class MarkedBatches(BatchSender[Any]):
    """
    :param place: says for people where it is, without a password.
    :param add: puts the commands of an element into a pipeline.
    """

    remembers = True

    def __init__(self, place: RedisPlace, add: Callable[[Any, Any], None]) -> None:
        self._client, self._add, self._where = place.connect(), add, str(place)

    def send(self, values: Iterator[Any], batch: Batch) -> None:
        pipeline = self._client.pipeline(transaction=True)
        for value in values:
            self._add(pipeline, value)
        pipeline.set(_mark(batch), 1, ex=MARK_SECONDS)
        with telling(self._where):
            pipeline.execute()

    def is_sent(self, batch: Batch) -> bool:
        with telling(self._where):
            return bool(self._client.exists(_mark(batch)))

    def close(self) -> None:
        self._client.close()


def _mark(batch: Batch) -> str:
    return f"millrace:written:{batch.name}"
