"""``JetStreamSource`` reads a stream of NATS from positions, every message once; ``JetStreamSink`` publishes, at least
once or exactly once.

The client is asynchronous: here it runs in the thread that asks it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

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
from millrace.connectors.sink_base import DeliveryGuarantee, Patience
from millrace.connectors.source_base import StandingSplits
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader
from millrace.connectors.write_ahead import Batch, BatchSender, WriteAheadSink

T = TypeVar("T")

_MISSING = "nats can't be imported, which the NATS connector needs: pip install 'millrace-streaming[nats]' ({})"
_SECONDS = 10


def nats_library() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import nats as found
        import nats.js.api
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@dataclass(frozen=True)
class NatsServers:
    """
    :ivar urls: ``nats://host:port``, ``tls://``; they may hold user and password.
    :ivar options: of ``nats.connect``, for instance ``user_credentials`` (the path of a file).
    """

    urls: tuple[str, ...] = field(repr=False)
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return ", ".join(url.rpartition("@")[2].rpartition("//")[2] for url in self.urls)

    def connect(self) -> NatsClient:
        """:raises ConnectionError: no server answers."""
        return NatsClient(self)


class NatsClient:
    """A connection with an event loop of its own, which turns while something is asked."""

    def __init__(self, servers: NatsServers) -> None:
        library = nats_library()
        self.api = library.js.api
        self.errors = library.js.errors
        self._lost = (library.errors.ConnectionClosedError, library.errors.StaleConnectionError)
        self._servers = servers
        self._failure: Exception | None = None
        self._loop = asyncio.new_event_loop()
        try:
            self._connection = self.run(self._connect(library))
        except Exception as error:
            self._loop.close()
            raise ConnectionError(f"NATS at {servers} does not answer, or does not let us in: {error!r}") from None
        self.jetstream = self._connection.jetstream()

    async def _connect(self, library: Any) -> Any:
        async def on_error(error: Exception) -> None:
            self._failure = error

        return await library.connect(
            list(self._servers.urls),
            # A lost connection fails the job, which restarts from its checkpoint.
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0.1,
            connect_timeout=_SECONDS,
            error_cb=on_error,
            **dict(self._servers.options),
        )

    def run(self, what: Coroutine[Any, Any, T]) -> T:
        """:raises ConnectionError: the connection is lost."""
        try:
            return self._loop.run_until_complete(what)
        except self._lost as error:
            raise ConnectionError(
                f"NATS at {self._servers}: the connection is lost: {self._failure or error!r}"
            ) from error

    def check(self) -> None:
        """:raises ConnectionError: the connection is lost."""
        if self._connection.is_closed:
            raise ConnectionError(f"NATS at {self._servers}: the connection is lost: {self._failure!r}")

    def serve(self) -> None:
        """Let it answer the server."""
        self.run(asyncio.sleep(0))
        self.check()

    def close(self) -> None:
        if not self._loop.is_closed():
            try:
                self.run(self._connection.close())
                for task in asyncio.all_tasks(self._loop):
                    task.cancel()
                self.run(asyncio.sleep(0))
            finally:
                self._loop.close()


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

    def get_produced_type(self) -> TypeInformation | None:
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


BUCKET = "millrace_written"
"""key-value bucket of batches that a stream has"""
MARK_SECONDS = 7 * 24 * 60 * 60
MOST_AT_ONCE = 500
"""messages on their way whose confirmation is waited for"""
_ID = "Nats-Msg-Id"


class JetStreamSink(Sink[Any]):
    """At least once: an epoch ends when the stream has confirmed its messages.

    ``JetStreamSink.of`` makes one of these, or one that writes exactly once.

        >>> sink = JetStreamSink.of("nats://localhost:4222", "lines.all", SimpleStringSchema())
    """

    def __init__(self, servers: NatsServers, subject: str, encoder: MessageEncoder[Any]) -> None:
        self._servers, self._subject, self._encoder = servers, subject, encoder

    @staticmethod
    def of(
        servers: str | Sequence[str],
        subject: str,
        serializer: SerializationSchema | MessageEncoder[Any],
        *,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        log_directory: str | None = None,
        **options: Any,
    ) -> Sink[Any]:
        """A sink for a subject that a stream listens to.

        :param guarantee: ``EXACTLY_ONCE``: messages wait until the checkpoint is recorded, and have ids by which the
            stream drops those that it has; a mark says that a batch is written. They are there twice only if the driver
            dies between the two and the job is started again later than the stream's ``duplicate_window`` (2 minutes
            unless the stream says more).
        :param log_directory: where large batches wait; None: in the checkpoint.
        :param options: of ``nats.connect``.
        """
        urls = (servers,) if isinstance(servers, str) else tuple(servers)
        reached = NatsServers(urls, tuple(options.items()))
        encoder = serializer if isinstance(serializer, MessageEncoder) else SchemaEncoder[Any](serializer)
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return ExactJetStreamSink(reached, subject, encoder, log_directory)
        return JetStreamSink(reached, subject, encoder)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        sender = JetStreamSender(self._servers, self._subject)
        return MessageWriter(sender, self._encoder, Patience(context.current_processing_time))


class JetStreamSender(Sender):
    def __init__(self, servers: NatsServers, subject: str) -> None:
        self._client, self._subject = servers.connect(), subject

    def send(self, messages: Sequence[Outgoing]) -> None:
        publish(self._client, self._subject, messages, None)

    def flush(self) -> None:
        # Every confirmation was waited for; the server may want an answer.
        self._client.serve()

    def close(self) -> None:
        self._client.close()


def publish(client: NatsClient, subject: str, messages: Sequence[Outgoing], name: str | None) -> None:
    """Write messages and wait for the stream. :param name: what their ids begin with; None: they have none.

    :raises ConnectionError: no stream listens, or it does not answer.
    """

    async def some(begin: int) -> None:
        part = messages[begin : begin + MOST_AT_ONCE]
        calls = []
        for number, each in enumerate(part, begin):
            headers = None if name is None else {_ID: f"{name}/{number}"}
            calls.append(client.jetstream.publish(each.to or subject, each.value, headers=headers))
        await asyncio.gather(*calls)

    try:
        for begin in range(0, len(messages), MOST_AT_ONCE):
            client.run(some(begin))
    except Exception as error:
        raise ConnectionError(f"NATS has not confirmed messages for {subject!r}: {error!r}") from error


class ExactJetStreamSink(WriteAheadSink[Any]):
    """Exactly once, by a write-ahead log and ids."""

    def __init__(
        self, servers: NatsServers, subject: str, encoder: MessageEncoder[Any], log_directory: str | None
    ) -> None:
        super().__init__(log_directory)
        self._servers, self._subject, self._encoder = servers, subject, encoder

    def create_sender(self) -> BatchSender[Any]:
        return JetStreamBatches(self._servers, self._subject, self._encoder)


class JetStreamBatches(BatchSender[Any]):
    remembers = True

    def __init__(self, servers: NatsServers, subject: str, encoder: MessageEncoder[Any]) -> None:
        self._client, self._subject, self._encoder = servers.connect(), subject, encoder
        self._bucket = self._client.run(self._marks())

    async def _marks(self) -> Any:
        try:
            return await self._client.jetstream.key_value(BUCKET)
        except self._client.errors.NotFoundError:
            return await self._client.jetstream.create_key_value(bucket=BUCKET, ttl=MARK_SECONDS)

    def send(self, values: Iterator[Any], batch: Batch) -> None:
        messages = [message for value in values for message in self._encoder.encode(value, None)]
        publish(self._client, self._subject, messages, batch.name)
        self._client.run(self._bucket.put(_key(batch), b"1"))

    def is_sent(self, batch: Batch) -> bool:
        try:
            self._client.run(self._bucket.get(_key(batch)))
        except self._client.errors.KeyNotFoundError:
            return False
        return True

    def close(self) -> None:
        self._client.close()


def _key(batch: Batch) -> str:
    """Keys have letters, digits and a few signs."""
    return "".join(sign if sign.isalnum() or sign in "-_" else "=" + format(ord(sign), "x") for sign in batch.name)
