"""Streams of Redis, read from positions, every entry once, and appended to, at least once or exactly once; and publish
and subscribe, where what is sent while a reader is not there is lost to it, as Redis means it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.messages import (
    Message,
    MessageDecoder,
    MessageEncoder,
    MessageWriter,
    Outgoing,
    SchemaDecoder,
    SchemaEncoder,
    Sender,
)
from millrace.connectors.redis.redis_client import MarkedBatches, RedisServer
from millrace.connectors.sink_base import DeliveryGuarantee, Patience
from millrace.connectors.source_base import StandingSplits
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader
from millrace.connectors.write_ahead import BatchSender, WriteAheadSink

_ID = re.compile(r"(\d+)(?:-(\d+))?")
BEGIN = "0-0"


@dataclass(frozen=True)
class StreamSplit:
    """A stream and how far it is read.

    :ivar after: the id of the last entry that was read.
    :ivar count: how many entries there were up to it in all of the stream's life; None: not known.
    :ivar stop: the id of the last entry to be read; None: there is no end.
    """

    stream: str
    after: str = BEGIN
    count: int | None = None
    stop: str | None = None

    @property
    def split_id(self) -> str:
        return self.stream


def parse_entry_id(id: str) -> tuple[int, int]:
    """An entry's id as two numbers that can be compared. :raises ValueError: it is none."""
    found = _ID.fullmatch(id)
    if found is None:
        raise ValueError(f"{id!r} is no id of an entry in a Redis stream: they are like 1700000000000-0")
    return int(found[1]), int(found[2] or 0)


WAIT_MS = 50
MOST_ENTRIES = 1_000
"""The most entries of one stream in one fetch."""
CHECK_SECONDS = 10.0
"""Seconds between two checks whether entries were trimmed away unread."""


@dataclass(frozen=True)
class RedisStreamSource(Source[Any, StreamSplit]):
    """Entries of streams, each with the time in its id.

        >>> source = RedisStreamSource.of("redis://localhost:6379", ["orders"], SimpleStringSchema(), start="earliest")

    :ivar streams: their keys; each is read by one subtask.
    :ivar deserializer: of the field ``field`` of an entry, or of all its fields as a JSON object.
    :ivar start: ``earliest``, ``latest``, or the id of an entry: what comes after it is read.
    :ivar field: None: all fields.
    :ivar bounded: whether it ends at the last entries that there are when the job starts.
    :ivar keep_on_trimmed: entries that the server deletes before they are read fail the job, unless this is set.
    """

    server: RedisServer
    streams: tuple[str, ...]
    decoder: MessageDecoder[Any]
    start: str = "latest"
    field: str | None = "value"
    bounded: bool = False
    keep_on_trimmed: bool = False

    @staticmethod
    def of(
        url: str,
        streams: str | Sequence[str],
        deserializer: DeserializationSchema,
        *,
        start: str = "latest",
        field: str | None = "value",
        bounded: bool = False,
        keep_on_trimmed: bool = False,
    ) -> RedisStreamSource:
        """:raises ValueError: a start that is none, or no streams."""
        names = (streams,) if isinstance(streams, str) else tuple(streams)
        decoder = SchemaDecoder[Any](deserializer)
        return RedisStreamSource(RedisServer(url), names, decoder, start, field, bounded, keep_on_trimmed)

    def __post_init__(self) -> None:
        if not self.streams:
            raise ValueError("a RedisStreamSource needs the keys of streams")
        if self.start not in ("earliest", "latest"):
            parse_entry_id(self.start)

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[StreamSplit], checkpoint: list[StreamSplit] | None = None
    ) -> StandingSplits[StreamSplit]:
        return StandingSplits(context, self._splits() if checkpoint is None else checkpoint)

    def _splits(self) -> list[StreamSplit]:
        client = self.server.connect()
        try:
            with self.server.telling():
                return [self._split(client, name) for name in self.streams]
        finally:
            client.close()

    def _split(self, client: Any, name: str) -> StreamSplit:
        # A stream that is not there yet has no entries.
        info = client.xinfo_stream(name) if client.exists(name) else {}
        last = info.get("last-generated-id", b"0-0").decode()
        stop = last if self.bounded else None
        added = info.get("entries-added", 0 if not info else None)
        if self.start == "latest":
            return StreamSplit(name, last, added, stop)
        if self.start == "earliest":
            deleted = None if added is None else added - info.get("length", 0)
            return StreamSplit(name, BEGIN, deleted, stop)
        return StreamSplit(name, self.start, None, stop)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Any, StreamSplit]:
        return SourceReaderBase(self.split_reader())

    def split_reader(self) -> Callable[[], SplitReader[Any, StreamSplit]]:
        """What reads entries of the server's streams."""
        return lambda: StreamSplitReader(self)

    def get_produced_type(self) -> TypeInformation | None:
        return self.decoder.produced_type()


class StreamSplitReader(SplitReader[Any, StreamSplit]):
    """Reads streams with one connection."""

    def __init__(self, source: RedisStreamSource) -> None:
        self._source = source
        self._client = source.server.connect()
        self._splits: dict[str, StreamSplit] = {}
        self._next_check = 0.0

    def handle_splits_changes(self, added: Sequence[StreamSplit]) -> None:
        self._splits |= {each.stream: each for each in added}
        self._next_check = 0.0

    def fetch(self) -> list[SplitBatch[Any, StreamSplit]]:
        with self._source.server.telling():
            return self._fetch()

    def _fetch(self) -> list[SplitBatch[Any, StreamSplit]]:
        if time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + CHECK_SECONDS
            for split in self._splits.values():
                self._check(split)
        ended = [each for each in self._splits.values() if each.stop is not None and _at_end(each)]
        for split in ended:
            del self._splits[split.stream]
        found = [SplitBatch[Any, StreamSplit](each.stream, [], None) for each in ended]
        if self._splits and not found:
            wanted = {each.stream: each.after for each in self._splits.values()}
            answer = self._client.xread(wanted, count=MOST_ENTRIES, block=WAIT_MS)
            parts = answer.items() if isinstance(answer, dict) else answer
            found += [self._batch(name.decode(), entries) for name, entries in parts]
        return found

    def _batch(self, stream: str, entries: Any) -> SplitBatch[Any, StreamSplit]:
        split = self._splits[stream]
        if entries and isinstance(entries[0], list):  # RESP3 gives one more level
            (entries,) = entries
        if split.stop is not None:
            stop = parse_entry_id(split.stop)
            entries = [each for each in entries if parse_entry_id(each[0].decode()) <= stop]
        if not entries:  # all that was left was deleted
            del self._splits[stream]
            return SplitBatch(stream, [], None)
        messages = [self._message(stream, id.decode(), fields) for id, fields in entries]
        elements, times = self._source.decoder.decode(messages)
        count = None if split.count is None else split.count + len(entries)
        left = replace(split, after=entries[-1][0].decode(), count=count)
        size = sum(len(each.value) for each in messages)
        if split.stop is not None and _at_end(left):
            del self._splits[stream]
            return SplitBatch(stream, elements, None, times, size)
        self._splits[stream] = left
        return SplitBatch(stream, elements, left, times, size)

    def _message(self, stream: str, id: str, fields: dict[bytes, bytes] | None) -> Message:
        place = f"stream {stream!r}, entry {id}"
        known = fields or {}
        if self._source.field is None:
            value = json.dumps({_text(name): _text(content) for name, content in known.items()}).encode()
        else:
            found = known.get(self._source.field.encode())
            if found is None:
                names = ", ".join(sorted(map(_text, known)))
                raise ValueError(f"{place} has no field {self._source.field!r}; it has {names or 'none'}")
            value = found
        time = parse_entry_id(id)[0]
        return Message(value, place, time, {"stream": stream, "id": id, "timestamp": time})

    def _check(self, split: StreamSplit) -> None:
        """Whether the server has deleted entries that were not read."""
        if split.count is None or self._source.keep_on_trimmed or not self._client.exists(split.stream):
            return
        info = self._client.xinfo_stream(split.stream)
        lost = info["entries-added"] - info["length"] - split.count
        if lost > 0:
            raise ValueError(
                f"stream {split.stream!r}: {lost} entries behind {split.after} were deleted (MAXLEN, XTRIM or XDEL) "
                "before they were read; to go on without them set keep_on_trimmed, 'scan.keep-on-trimmed' = 'true'"
            )

    def close(self) -> None:
        self._client.close()


def _at_end(split: StreamSplit) -> bool:
    return split.stop is not None and parse_entry_id(split.after) >= parse_entry_id(split.stop)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


class StreamEntries:
    """What entries look like.

    :param maxlen: about how many entries the stream keeps; None: all.
    """

    def __init__(self, stream: str, encoder: MessageEncoder[Any], field: str, maxlen: int | None) -> None:
        self._stream, self.encoder, self._field, self._maxlen = stream, encoder, field, maxlen

    def add(self, pipeline: Any, messages: Sequence[Outgoing]) -> None:
        for each in messages:
            fields = {self._field: each.value}
            pipeline.xadd(each.to or self._stream, fields, maxlen=self._maxlen, approximate=True)


class RedisStreamSink(Sink[Any]):
    """At least once: an epoch ends when the server has its entries.

    ``RedisStreamSink.of`` makes one of these, or one that writes exactly once.

        >>> sink = RedisStreamSink.of("redis://localhost:6379", "lines", SimpleStringSchema())
    """

    def __init__(self, server: RedisServer, entries: StreamEntries) -> None:
        self._server, self._entries = server, entries

    @staticmethod
    def of(
        url: str,
        stream: str,
        serializer: SerializationSchema | MessageEncoder[Any],
        *,
        field: str = "value",
        maxlen: int | None = None,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        log_directory: str | None = None,
    ) -> Sink[Any]:
        """A sink that appends one entry an element.

        :param field: of the entry, that has the element.
        :param maxlen: about how many entries the stream keeps; None: all.
        :param guarantee: ``EXACTLY_ONCE``: entries wait until the checkpoint is recorded; the server takes those of a
            batch and the batch's name in one transaction.
        :param log_directory: where large batches wait; None: in the checkpoint.
        """
        encoder = serializer if isinstance(serializer, MessageEncoder) else SchemaEncoder[Any](serializer)
        entries = StreamEntries(stream, encoder, field, maxlen)
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return ExactStreamSink(RedisServer(url), entries, log_directory)
        return RedisStreamSink(RedisServer(url), entries)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = StreamSender(self._server, self._entries)
        return MessageWriter(sender, self._entries.encoder, Patience(context.current_processing_time))


class StreamSender(Sender):
    def __init__(self, server: RedisServer, entries: StreamEntries) -> None:
        self._server, self._client, self._entries = server, server.connect(), entries

    def send(self, messages: Sequence[Outgoing]) -> None:
        pipeline = self._client.pipeline(transaction=False)
        self._entries.add(pipeline, messages)
        with self._server.telling():
            pipeline.execute()

    def flush(self) -> None:
        """Every answer was waited for."""

    def close(self) -> None:
        self._client.close()


class ExactStreamSink(WriteAheadSink[Any]):
    """Exactly once, by a write-ahead log."""

    def __init__(self, server: RedisServer, entries: StreamEntries, log_directory: str | None) -> None:
        super().__init__(log_directory)
        self._server, self._entries = server, entries

    def create_sender(self) -> BatchSender[Any]:
        return MarkedBatches(self._server, self._add)

    def _add(self, pipeline: Any, value: Any) -> None:
        self._entries.add(pipeline, list(self._entries.encoder.encode(value, None)))


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

    def get_produced_type(self) -> TypeInformation | None:
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
    """Publishes elements to a channel; only clients that are subscribed at that moment get them.

    >>> alarms = RedisPubSubSink("redis://localhost:6379", "alarms", SimpleStringSchema())
    """

    def __init__(self, url: str, channel: str, serializer: SerializationSchema | MessageEncoder[Any]) -> None:
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
