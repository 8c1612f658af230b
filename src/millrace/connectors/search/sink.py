"""``SearchSink``: elements as actions on documents, sent in bulk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import pyarrow as pa

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.patience import Patience
from millrace.connectors.search.bulk import Bulk, BulkSettings
from millrace.connectors.search.client import SearchClient
from millrace.connectors.search.place import Place

T = TypeVar("T")


class Encoder(ABC, Generic[T]):
    """What becomes of elements. Pickled into the tasks."""

    @abstractmethod
    def measure(self, element: T) -> tuple[int, int]:
        """How many actions an element is at most, and about how many bytes."""

    @abstractmethod
    def encode(self, elements: Sequence[T], epoch: int) -> Sequence[pa.Array]:
        """Actions (binary): each as the lines that a bulk request has for it. In one array no document occurs twice;
        what comes in a later one is sent when the ones before are done.

        :param epoch: the number of the epoch.
        """


class SearchSink(Sink[T], Generic[T]):
    """**At least once**: what an epoch that failed had sent is sent again. Where documents have ids that follow from
    the elements nothing is there twice; where they have versions, too, nothing goes back to an older state."""

    def __init__(self, place: Place, settings: BulkSettings, encoder: Encoder[T]) -> None:
        self._place = place
        self._settings = settings
        self._encoder = encoder

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        return _Writer(self._place, self._settings, self._encoder, context)


class _Writer(SinkWriter[T]):
    def __init__(self, place: Place, settings: BulkSettings, encoder: Encoder[T], context: WriterInitContext) -> None:
        self._client = SearchClient(place)
        self._bulk = Bulk(self._client, settings)
        self._settings = settings
        self._encoder = encoder
        self._context = context
        self._waiting: list[T] = []
        self._actions = self._bytes = 0
        self._patience = Patience(context.current_processing_time, settings.interval * 1000 or None)

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting.append(element)
        actions, bytes_ = self._encoder.measure(element)
        self._actions += actions
        self._bytes += bytes_
        most, most_bytes = self._settings.max_actions, self._settings.max_bytes
        if (most and self._actions >= most) or (most_bytes and self._bytes >= most_bytes) or self._patience.is_over():
            self._send()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._send()

    def flush(self, end_of_input: bool) -> None:
        if self._waiting and (end_of_input or self._settings.each_epoch or self._patience.is_over()):
            self._send()

    def _send(self) -> None:
        waiting, self._waiting, self._actions, self._bytes = self._waiting, [], 0, 0
        self._patience.end()
        for actions in self._encoder.encode(waiting, self._context.get_checkpoint_id()):
            self._bulk.send(actions)

    def close(self) -> None:
        self._client.close()
