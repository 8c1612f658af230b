"""``JetStreamSource``: reads a stream from positions, every message once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.messages.message import Message, MessageDecoder, SchemaDecoder
from millrace.connectors.nats.connection import NatsServers
from millrace.connectors.queue_enumerator import StandingSplits
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

WAIT_SECONDS = 0.1
MOST_MESSAGES = 1_000
CHECK_SECONDS = 10.0
"""between two looks whether messages were deleted unread"""
STARTS = ("earliest", "latest")
_EVERYTHING = ">"


@dataclass(frozen=True)
class SubjectSplit:
    """A subject of a stream, and how far it is read.

    :ivar next: the sequence number that comes next.
    :ivar stop: the last one to be read; None: there is no end.
    """

    subject: str
    next: int
    stop: int | None = None

    @property
    def split_id(self) -> str:
        return self.subject


@dataclass(frozen=True)
class JetStreamSource(Source[Any, SubjectSplit]):
    """Messages of a stream, each with the time when the stream took it.

        >>> source = JetStreamSource.of("nats://localhost:4222", "ORDERS", SimpleStringSchema(), subjects=["orders.eu"])

    :ivar subjects: filters such as ``orders.*``; each is read by one subtask, and none may overlap another.
    :ivar start: ``earliest``, ``latest``, or the sequence number of the first message.
    :ivar bounded: whether it ends at the last message that there is when the job starts.
    :ivar keep_on_trimmed: messages that the server deletes before they are read fail the job, unless this is set. That
        is seen only where all subjects are read.
    """

    servers: NatsServers
    stream: str
    decoder: MessageDecoder[Any]
    subjects: tuple[str, ...] = (_EVERYTHING,)
    start: str | int = "latest"
    bounded: bool = False
    keep_on_trimmed: bool = False

    @staticmethod
    def of(
        servers: str | Sequence[str],
        stream: str,
        deserializer: DeserializationSchema,
        *,
        subjects: str | Sequence[str] = _EVERYTHING,
        start: str | int = "latest",
        bounded: bool = False,
        keep_on_trimmed: bool = False,
        **options: Any,
    ) -> JetStreamSource:
        """:param options: of ``nats.connect``."""
        urls = (servers,) if isinstance(servers, str) else tuple(servers)
        filters = (subjects,) if isinstance(subjects, str) else tuple(subjects)
        reached = NatsServers(urls, tuple(options.items()))
        decoder = SchemaDecoder[Any](deserializer)
        return JetStreamSource(reached, stream, decoder, filters, start, bounded, keep_on_trimmed)

    def __post_init__(self) -> None:
        """:raises ValueError: a start that is none."""
        if isinstance(self.start, str) and self.start not in STARTS:
            raise ValueError(f"start is {' or '.join(STARTS)}, or a sequence number, not {self.start!r}")

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[SubjectSplit], checkpoint: list[SubjectSplit] | None = None
    ) -> StandingSplits[SubjectSplit]:
        return StandingSplits(context, self._splits() if checkpoint is None else checkpoint)

    def _splits(self) -> list[SubjectSplit]:
        client = self.servers.connect()
        try:
            state = client.run(client.jetstream.stream_info(self.stream)).state
        except client.errors.NotFoundError:
            raise ValueError(f"NATS at {self.servers} has no stream {self.stream!r}") from None
        finally:
            client.close()
        begin = {"earliest": max(state.first_seq, 1), "latest": state.last_seq + 1}.get(str(self.start))
        stop = state.last_seq if self.bounded else None
        return [SubjectSplit(each, int(self.start) if begin is None else begin, stop) for each in self.subjects]

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Any, SubjectSplit]:
        return SourceReaderBase(lambda: JetStreamReader(self))

    def get_produced_type(self) -> Any:
        return self.decoder.produced_type()


class JetStreamReader(SplitReader[Any, SubjectSplit]):
    """Consumers that the server forgets, without acknowledgements: positions are the job's."""

    def __init__(self, source: JetStreamSource) -> None:
        self._source = source
        self._client = source.servers.connect()
        self._splits: dict[str, SubjectSplit] = {}
        self._consumers: dict[str, Any] = {}
        self._delivered: dict[str, int] = {}
        """how many messages each consumer has delivered"""
        self._next_check = 0.0

    def handle_splits_changes(self, added: Sequence[SubjectSplit]) -> None:
        for split in added:
            self._splits[split.subject] = split
            self._consumers[split.subject] = self._client.run(self._subscribe(split))
        self._next_check = 0.0

    async def _subscribe(self, split: SubjectSplit) -> Any:
        api = self._client.api
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=split.next,
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=300.0,
            mem_storage=True,
        )
        self._delivered[split.subject] = 0
        return await self._client.jetstream.pull_subscribe(split.subject, stream=self._source.stream, config=config)

    def fetch(self) -> list[SplitBatch[Any, SubjectSplit]]:
        self._client.check()
        if time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + CHECK_SECONDS
            self._check()
        ended = [split for split in self._splits.values() if split.stop is not None and split.next > split.stop]
        for split in ended:
            self._end(split)
        found = [SplitBatch[Any, SubjectSplit](split.subject, [], None) for split in ended]
        subjects = list(self._splits)
        for subject, messages in zip(subjects, self._client.run(self._gather(subjects))):
            batch = self._batch(self._splits[subject], messages)
            if batch is not None:
                found.append(batch)
        return found

    async def _gather(self, subjects: Sequence[str]) -> list[Any]:
        found: list[Any] = await asyncio.gather(*(self._some(subject) for subject in subjects))
        return found

    async def _some(self, subject: str) -> list[Any]:
        try:
            found: list[Any] = await self._consumers[subject].fetch(MOST_MESSAGES, timeout=WAIT_SECONDS)
        except asyncio.TimeoutError:  # the library's own is one, too
            return []
        except self._client.errors.NotFoundError:  # it was silent for too long
            self._consumers[subject] = await self._subscribe(self._splits[subject])
            return []
        return found

    def _batch(self, split: SubjectSplit, found: Sequence[Any]) -> SplitBatch[Any, SubjectSplit] | None:
        at = [each.metadata.sequence.stream for each in found]
        before = self._delivered[split.subject]
        if [each.metadata.sequence.consumer for each in found] != list(range(before + 1, before + 1 + len(found))):
            # The server does not deliver again what got lost on its way.
            name = self._source.stream
            raise ConnectionError(f"stream {name!r}: messages behind {split.next} were lost on their way")
        self._delivered[split.subject] = before + len(found)
        if at and at[0] > split.next and self._source.subjects == (_EVERYTHING,):
            self._check()  # there is a gap: perhaps it was just made
        if split.stop is not None:
            count = sum(number <= split.stop for number in at)
            over = count < len(at) or (not found and self._is_behind(split))
            found, at = found[:count], at[:count]
        else:
            over = False
        if not found and not over:
            return None
        messages = [self._message(message, number) for message, number in zip(found, at)]
        elements, times = self._source.decoder.decode(messages) if messages else ([], None)
        size = sum(len(each.value) for each in messages)
        left = replace(split, next=at[-1] + 1) if at else split
        if over or (left.stop is not None and left.next > left.stop):
            self._end(split)
            return SplitBatch(split.subject, elements, None, times, size)
        self._splits[split.subject] = left
        return SplitBatch(split.subject, elements, left, times, size)

    def _is_behind(self, split: SubjectSplit) -> bool:
        """Whether nothing of a subject is left before its end: the last messages may be of other subjects."""
        return bool(self._client.run(self._consumers[split.subject].consumer_info()).num_pending == 0)

    def _message(self, message: Any, sequence: int) -> Message:
        time = int(message.metadata.timestamp.timestamp() * 1000)
        place = f"stream {self._source.stream!r}, sequence {sequence}"
        known = {"subject": message.subject, "sequence": sequence, "timestamp": time}
        return Message(message.data, place, time, {**known, "headers": list((message.headers or {}).items())})

    def _check(self) -> None:
        source = self._source
        if source.keep_on_trimmed or source.subjects != (_EVERYTHING,):
            return
        state = self._client.run(self._client.jetstream.stream_info(source.stream)).state
        for split in self._splits.values():
            if state.first_seq > split.next:
                raise ValueError(
                    f"stream {source.stream!r}: messages {split.next} to {state.first_seq - 1} were deleted before "
                    "they were read; to go on without them set keep_on_trimmed, 'scan.keep-on-trimmed' = 'true'"
                )

    def _end(self, split: SubjectSplit) -> None:
        del self._splits[split.subject]
        self._client.run(self._consumers.pop(split.subject).unsubscribe())

    def keep_alive(self) -> None:
        self._client.serve()

    def close(self) -> None:
        self._client.close()
