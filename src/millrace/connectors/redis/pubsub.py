"""Publish and subscribe: what is sent while a reader is not there is lost to it, as Redis means it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.messages.message import Message, MessageDecoder, SchemaDecoder
from millrace.connectors.messages.sending import MessageEncoder, MessageWriter, Outgoing, SchemaEncoder, Sender
from millrace.connectors.patience import Patience
from millrace.connectors.queue_enumerator import StandingSplits
from millrace.connectors.redis.connection import RedisServer
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

WAIT_SECONDS = 0.05
MOST_MESSAGES = 1_000


@dataclass(frozen=True)
class ChannelSplit:
    """A channel, or with * ? [ a pattern of channels."""

    channel: str

    @property
    def split_id(self) -> str:
        return self.channel


@dataclass(frozen=True)
class RedisPubSubSource(Source[Any, ChannelSplit]):
    """Messages of channels while the job runs: **at most once**. A message that comes while the job restarts is not
    seen; use streams where that matters.

        >>> alarms = RedisPubSubSource.of("redis://localhost:6379", "alarms.*", SimpleStringSchema())

    :ivar channels: names, or patterns with ``*``, ``?``, ``[..]``; each is read by one subtask.
    """

    server: RedisServer
    channels: tuple[str, ...]
    decoder: MessageDecoder[Any]

    @staticmethod
    def of(url: str, channels: str | Sequence[str], deserializer: DeserializationSchema) -> RedisPubSubSource:
        """A source of the messages of channels, or of patterns of channels."""
        names = (channels,) if isinstance(channels, str) else tuple(channels)
        return RedisPubSubSource(RedisServer(url), names, SchemaDecoder[Any](deserializer))

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[ChannelSplit], checkpoint: list[ChannelSplit] | None = None
    ) -> StandingSplits[ChannelSplit]:
        splits = [ChannelSplit(each) for each in self.channels] if checkpoint is None else checkpoint
        return StandingSplits(context, splits)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Any, ChannelSplit]:
        return SourceReaderBase(lambda: ChannelReader(self))

    def get_produced_type(self) -> Any:
        return self.decoder.produced_type()


class ChannelReader(SplitReader[Any, ChannelSplit]):
    def __init__(self, source: RedisPubSubSource) -> None:
        self._source = source
        self._client = source.server.connect()
        self._subscribed = self._client.pubsub(ignore_subscribe_messages=True)

    def handle_splits_changes(self, added: Sequence[ChannelSplit]) -> None:
        for split in added:
            pattern = any(sign in split.channel for sign in "*?[")
            (self._subscribed.psubscribe if pattern else self._subscribed.subscribe)(split.channel)

    def fetch(self) -> list[SplitBatch[Any, ChannelSplit]]:
        by_split: dict[str, list[Message]] = {}
        found = self._subscribed.get_message(timeout=WAIT_SECONDS)
        for _ in range(MOST_MESSAGES):
            if found is not None:
                channel = found["channel"].decode()
                split = (found["pattern"] or found["channel"]).decode()
                message = Message(found["data"], f"channel {channel!r}", None, {"channel": channel})
                by_split.setdefault(split, []).append(message)
            found = self._subscribed.get_message(timeout=0)
            if found is None:
                break
        batches = []
        for split, messages in by_split.items():
            elements, times = self._source.decoder.decode(messages)
            size = sum(len(each.value) for each in messages)
            batches.append(SplitBatch(split, elements, ChannelSplit(split), times, size))
        return batches

    def close(self) -> None:
        self._subscribed.close()
        self._client.close()


class RedisPubSubSink(Sink[Any]):
    """Publishes elements to a channel, to those that listen at that moment.

        >>> alarms = RedisPubSubSink("redis://localhost:6379", "alarms", SimpleStringSchema())
    """

    def __init__(
        self, url: str, channel: str, serializer: SerializationSchema | MessageEncoder[Any]
    ) -> None:
        self._server, self._channel = RedisServer(url), channel
        self._encoder = serializer if isinstance(serializer, MessageEncoder) else SchemaEncoder[Any](serializer)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = Publisher(self._server, self._channel)
        return MessageWriter(sender, self._encoder, Patience(context.current_processing_time))


class Publisher(Sender):
    def __init__(self, server: RedisServer, channel: str) -> None:
        self._server, self._client, self._channel = server, server.connect(), channel

    def send(self, messages: Sequence[Outgoing]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for each in messages:
            pipeline.publish(each.to or self._channel, each.value)
        with self._server.telling():
            pipeline.execute()

    def flush(self) -> None:
        """Every answer was waited for."""

    def close(self) -> None:
        self._client.close()
