"""``RedisStreamSource``: reads streams from positions, every entry once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.messages.message import Message, MessageDecoder, SchemaDecoder
from millrace.connectors.queue_enumerator import StandingSplits
from millrace.connectors.redis.connection import RedisServer
from millrace.connectors.redis.stream_split import BEGIN, StreamSplit, parsed
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

WAIT_MS = 50
MOST_ENTRIES = 1_000
"""of one stream in one fetch"""
CHECK_SECONDS = 10.0
"""between two looks whether entries were trimmed away unread"""


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
            parsed(self.start)

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

    def get_produced_type(self) -> Any:
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
            stop = parsed(split.stop)
            entries = [each for each in entries if parsed(each[0].decode()) <= stop]
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
        time = parsed(id)[0]
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
    return split.stop is not None and parsed(split.after) >= parsed(split.stop)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
