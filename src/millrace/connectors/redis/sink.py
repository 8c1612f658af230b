"""Commands for what a job writes: at least once, or exactly once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.patience import Patience
from millrace.connectors.redis.batches import MarkedBatches
from millrace.connectors.redis.places import RedisPlace
from millrace.connectors.redis.retrying import Retrying
from millrace.connectors.write_ahead import BatchSender, WriteAheadSink

Words = tuple[Any, ...]
"""a command: its name, then bytes, texts and numbers"""

MOST_COMMANDS = 1_000
"""that are sent together"""


class CommandEncoder(ABC):
    """Commands of elements. Pickled into the tasks."""

    @abstractmethod
    def commands(self, element: Any) -> Iterable[Words]: ...


class RedisCommands(Sink[Any]):
    """**At least once**: an epoch ends when the server has answered all commands; one that failed is sent again. That
    changes nothing where commands say what is to be (SET, HSET, SADD, ZADD, DEL), and counts twice where they add
    (INCRBY, LPUSH).

    ``RedisCommands.of`` makes one of these, or one that writes exactly once.
    """

    def __init__(self, place: RedisPlace, encoder: CommandEncoder, retries: int, what: str = "Redis") -> None:
        self._place, self._encoder, self._retries, self._what = place, encoder, retries, what

    @staticmethod
    def of(
        place: RedisPlace,
        encoder: CommandEncoder,
        *,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        log_directory: str | None = None,
        retries: int = 3,
        what: str = "Redis",
    ) -> Sink[Any]:
        """
        :param guarantee: ``EXACTLY_ONCE``: commands wait until the checkpoint is recorded; the server takes those of an
            epoch and its name in one transaction.
        :param log_directory: where large epochs wait; None: in the checkpoint.
        :raises ValueError: exactly once, in a cluster.
        """
        if guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return RedisCommands(place, encoder, retries, what)
        if not place.transactions:
            raise ValueError("a cluster of Redis has no transactions over all its keys: it is written at least once")
        return ExactCommands(place, encoder, log_directory)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        retrying = Retrying(self._place, self._retries, self._what)
        return _Writer(retrying, self._encoder, Patience(context.current_processing_time))


class _Writer(SinkWriter[Any]):
    def __init__(self, retrying: Retrying, encoder: CommandEncoder, patience: Patience) -> None:
        self._retrying, self._encoder, self._patience = retrying, encoder, patience
        self._waiting: list[Words] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting += self._encoder.commands(element)
        if len(self._waiting) >= MOST_COMMANDS:
            self._send()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._send()

    def flush(self, end_of_input: bool) -> None:
        self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._patience.end()
        for begin in range(0, len(waiting), MOST_COMMANDS):
            self._retrying.run(partial(_execute, commands=waiting[begin : begin + MOST_COMMANDS]))

    def close(self) -> None:
        self._retrying.close()


def _execute(client: Any, commands: Sequence[Words]) -> None:
    pipeline = client.pipeline(transaction=False)
    for words in commands:
        pipeline.execute_command(*words)
    pipeline.execute()


class ExactCommands(WriteAheadSink[Any]):
    """Exactly once, by a write-ahead log of commands."""

    def __init__(self, place: RedisPlace, encoder: CommandEncoder, log_directory: str | None) -> None:
        super().__init__(log_directory)
        self._place, self._encoder = place, encoder

    def create_writer(self, context: WriterInitContext) -> Any:
        return _Encoding(super().create_writer(context), self._encoder)

    def create_sender(self) -> BatchSender[Any]:
        return MarkedBatches(self._place, _add)


def _add(pipeline: Any, words: Words) -> None:
    pipeline.execute_command(*words)


class _Encoding(SinkWriter[Any]):
    """Hands on commands in place of elements."""

    def __init__(self, below: SinkWriter[Any], encoder: CommandEncoder) -> None:
        self._below, self._encoder = below, encoder

    def write(self, element: Any, context: SinkWriterContext) -> None:
        for words in self._encoder.commands(element):
            self._below.write(words, context)

    def flush(self, end_of_input: bool) -> None:
        self._below.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._below.prepare_commit()

    def close(self) -> None:
        self._below.close()
