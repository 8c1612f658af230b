"""``KinesisStreamsSource``: reads streams from positions, every record once, the records of a key in their order;
``FlinkKinesisConsumer`` is the same under PyFlink's name.

Shards are found again and again; children are read when their parents are.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from millrace.common.serialization import DeserializationSchema
from millrace.common.source import (
    Boundedness,
    Source,
    SourceEvent,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.kinesis.kinesis_shards import (
    Answer,
    DynamoDbStreams,
    Kinesis,
    Shard,
    ShardService,
    ShardSplit,
    parents_first,
)
from millrace.connectors.messages import Message, MessageDecoder, MessageError, SchemaDecoder
from millrace.connectors.source_base import DelegatingSource
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader
from millrace.util.threads import JobPool, JobThread

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShardFinished(SourceEvent):
    """A reader has read a closed shard to its end."""

    split_id: str


class Found(NamedTuple):
    """The state of an enumerator."""

    known: frozenset[str]
    """ids of all shards that were ever found: waiting, given to readers, or finished"""
    finished: frozenset[str]
    waiting: tuple[ShardSplit, ...]


class ShardEnumerator(SplitEnumerator[ShardSplit]):
    """Asks the service at the start and then every so often, in a thread of its own."""

    splits_end = False

    def __init__(
        self,
        source: KinesisStreamsSource,
        context: SplitEnumeratorContext[ShardSplit],
        earlier: Found | None = None,
    ) -> None:
        self._source, self._context = source, context
        self._known = set(earlier.known if earlier is not None else ())
        self._finished = set(earlier.finished if earlier is not None else ())
        self._waiting = list(earlier.waiting if earlier is not None else ())
        self._first = earlier is None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._seen: list[Shard] = []

    def start(self) -> None:
        """:raises ValueError: there is no such stream."""
        self._seen = self._ask()
        if self._first:
            self._first = False
            self._begin()
        self._take_over()
        JobThread(target=self._look, name="millrace-kinesis-shards", daemon=True).start()

    def _ask(self) -> list[Shard]:
        return [shard for stream in self._source.streams for shard in self._source.service.shards(stream)]

    def _begin(self) -> None:
        """Where there is a beginning other than the oldest record, closed shards are of the past."""
        if self._source.start == "TRIM_HORIZON":
            return
        since = int(time.time() * 1000) if self._source.start == "LATEST" else int(self._source.since or 0)
        for each in self._seen:
            split = ShardSplit(each.stream, each.id, None, since)
            self._known.add(split.split_id)
            if each.open or self._source.start != "LATEST":
                self._waiting.append(split)
            else:
                self._finished.add(split.split_id)

    def _take_over(self) -> None:
        for each in parents_first(self._seen, self._finished, self._known):
            split = ShardSplit(each.stream, each.id)
            self._known.add(split.split_id)
            self._waiting.append(split)

    def _look(self) -> None:
        while not self._closed.wait(self._source.discovery_ms / 1000):
            try:
                seen = self._ask()
            except Exception as error:
                logger.warning("shards were not looked up, which is tried again: %s", error)
                continue
            with self._lock:
                self._seen = seen

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        if isinstance(event, ShardFinished):
            self._finished.add(event.split_id)
            # Its children are there from the moment that it was closed.
            seen = self._ask()
            with self._lock:
                self._seen = seen

    def handle_split_request(self, subtask_id: int) -> None:
        with self._lock:
            self._take_over()
        if self._waiting:
            self._context.assign_split(self._waiting.pop(0), subtask_id)

    def add_splits_back(self, splits: Sequence[ShardSplit], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> Any:
        with self._lock:
            return Found(frozenset(self._known), frozenset(self._finished), tuple(self._waiting))

    def close(self) -> None:
        self._closed.set()


STARTS = ("LATEST", "TRIM_HORIZON", "AT_TIMESTAMP")
THREADS = 8
"""The most threads of a subtask that request records of shards."""
WAIT_SECONDS = 0.02


@dataclass(frozen=True, eq=False)
class KinesisStreamsSource(Source[Any, ShardSplit]):
    """Records of shards, each with the time when it arrived. Shards that are split or merged are followed.

        >>> source = KinesisStreamsSource.of("orders", SimpleStringSchema(), {"aws.region": "eu-central-1"})
        >>> source.get_boundedness()
        <Boundedness.CONTINUOUS_UNBOUNDED: 'CONTINUOUS_UNBOUNDED'>

    :ivar streams: names or ARNs.
    :ivar start: LATEST, TRIM_HORIZON or AT_TIMESTAMP, then ``since`` is in ms.
    :ivar most: records of one request.
    :ivar pause_ms: after a request that gave records; ``empty_pause_ms`` after one that gave none. A shard answers five
        requests a second.
    """

    service: ShardService
    streams: tuple[str, ...]
    decoder: MessageDecoder[Any]
    start: str = "LATEST"
    since: int | None = None
    discovery_ms: int = 10_000
    most: int = 10_000
    pause_ms: int = 0
    empty_pause_ms: int = 250

    @staticmethod
    def of(
        streams: str | Sequence[str],
        deserializer: DeserializationSchema,
        properties: Mapping[str, str],
        *,
        start: str = "LATEST",
        since: int | None = None,
        **more: Any,
    ) -> KinesisStreamsSource:
        """:param properties: ``aws.region``, ``aws.endpoint``, ``aws.credentials.*``. ``more``: as the attributes."""
        names = (streams,) if isinstance(streams, str) else tuple(streams)
        decoder = SchemaDecoder[Any](deserializer)
        return KinesisStreamsSource(Kinesis(properties), names, decoder, start, since, **more)

    @staticmethod
    def of_tables(
        stream_arns: str | Sequence[str],
        deserializer: DeserializationSchema,
        properties: Mapping[str, str],
        *,
        start: str = "LATEST",
        **more: Any,
    ) -> KinesisStreamsSource:
        """The changes of DynamoDB tables; each is a JSON object with ``eventName`` and ``dynamodb``."""
        names = (stream_arns,) if isinstance(stream_arns, str) else tuple(stream_arns)
        decoder = SchemaDecoder[Any](deserializer)
        return KinesisStreamsSource(DynamoDbStreams(properties), names, decoder, start, **{"most": 1_000, **more})

    def __post_init__(self) -> None:
        """:raises ValueError: a start that is none."""
        if self.start not in STARTS:
            raise ValueError(f"the start is {', '.join(STARTS)}, not {self.start!r}")
        if (self.start == "AT_TIMESTAMP") != (self.since is not None):
            raise ValueError("AT_TIMESTAMP needs a time to begin with (since, in ms), and the other starts have none")

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[ShardSplit], checkpoint: Found | None = None
    ) -> ShardEnumerator:
        return ShardEnumerator(self, context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Any, ShardSplit]:
        return ShardsReader(self, context)

    def get_produced_type(self) -> TypeInformation | None:
        return self.decoder.produced_type()


class ShardsReader(SourceReaderBase[Any, ShardSplit]):
    """Tells the enumerator of shards that are read to their end, so that their children are read next."""

    def __init__(self, source: KinesisStreamsSource, context: SourceReaderContext) -> None:
        super().__init__(lambda: ShardSplitReader(source))
        self._context = context

    def emitted(self, batch: SplitBatch[Any, ShardSplit]) -> None:
        if batch.left is None:
            self._context.send_source_event_to_coordinator(ShardFinished(batch.split_id))


@dataclass
class _Place:
    """A shard that is being read. :ivar due: when it may be asked again."""

    split: ShardSplit
    iterator: str | None = None
    due: float = 0.0


class ShardSplitReader(SplitReader[Any, ShardSplit]):
    """Asks all its shards, several at a time."""

    def __init__(self, source: KinesisStreamsSource) -> None:
        self._source = source
        self._places: dict[str, _Place] = {}
        self._paused: set[str] = set()
        self._pool = JobPool(THREADS, thread_name_prefix="millrace-kinesis")

    def handle_splits_changes(self, added: Sequence[ShardSplit]) -> None:
        self._places |= {each.split_id: _Place(each) for each in added}

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        self._paused = (self._paused | set(to_pause)) - set(to_resume)

    def fetch(self) -> list[SplitBatch[Any, ShardSplit]]:
        now = time.monotonic()
        due = [each for name, each in self._places.items() if each.due <= now and name not in self._paused]
        if not due:
            time.sleep(WAIT_SECONDS)
            return []
        answers = list(self._pool.map(self._ask, due))
        found = ((place, answer) for place, answer in zip(due, answers) if answer is not None)
        return [batch for place, answer in found for batch in self._batch(place, answer)]

    def _ask(self, place: _Place) -> Answer | None:
        service = self._source.service
        try:
            if place.iterator is None:
                place.iterator = service.iterator(place.split)
            return service.records(place.split, place.iterator, self._source.most)
        except service.errors.ExpiredIteratorException:
            place.iterator = None
            return None
        except Exception as error:
            if type(error).__name__ not in ("ProvisionedThroughputExceededException", "LimitExceededException"):
                raise
            place.due = time.monotonic() + 1.0
            return None

    def _batch(self, place: _Place, answer: Answer) -> list[SplitBatch[Any, ShardSplit]]:
        source, split = self._source, place.split
        elements, times = source.decoder.decode(answer.messages) if answer.messages else ([], None)
        pause = source.pause_ms if answer.messages else source.empty_pause_ms
        place.due = time.monotonic() + pause / 1000
        place.iterator = answer.next
        if not answer.messages and answer.next is not None:
            return []
        size = sum(len(each.value) for each in answer.messages)
        if answer.next is None:
            del self._places[split.split_id]
            return [SplitBatch(split.split_id, elements, None, times, size)]
        place.split = replace(split, after=answer.sequences[-1], since=None)
        return [SplitBatch(split.split_id, elements, place.split, times, size)]

    def close(self) -> None:
        self._pool.shutdown()


_START = "flink.stream.initpos"
_SINCE = "flink.stream.initpos.timestamp"
_DISCOVERY = "flink.shard.discovery.intervalmillis"
_MOST = "flink.shard.getrecords.maxrecordcount"
_PAUSE = "flink.shard.getrecords.intervalmillis"
_PUBLISHER = "flink.stream.recordpublisher"
DEFAULT_PAUSE_MS = 200


class KinesisShardAssigner:
    """Which subtask reads which shard. Shards go round, whichever of these is chosen.

    >>> assigner = KinesisShardAssigner.uniform_shard_assigner()
    """

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """Accepted: shards are spread evenly anyway."""
        return KinesisShardAssigner()

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """Accepted: shards are spread evenly anyway."""
        return KinesisShardAssigner()


class KinesisDeserializationSchema(ABC):
    """Elements of whole records (our addition: PyFlink's takes Java objects only).

    >>> sorted(KinesisDeserializationSchema.__abstractmethods__)
    ['deserialize']
    """

    @abstractmethod
    def deserialize(
        self,
        record_value: bytes,
        partition_key: str,
        seq_num: str,
        approx_arrival_timestamp: int | None,
        stream: str,
        shard_id: str,
    ) -> Any:
        """The element, None to leave the record out. The time is in ms."""

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements."""
        return None


class WatermarkTracker:
    """Made by ``job_manager_watermark_tracker``; setting one is refused.

    >>> tracker = WatermarkTracker.job_manager_watermark_tracker("group")
    """

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """Accepted for programs of PyFlink."""
        return WatermarkTracker()


class _WholeRecords(MessageDecoder[Any]):
    def __init__(self, schema: KinesisDeserializationSchema) -> None:
        self._schema = schema

    def decode(self, messages: Sequence[Message]) -> tuple[list[Any], list[int] | None]:
        elements: list[Any] = []
        times: list[int | None] = []
        for each in messages:
            known = each.metadata
            place = known["stream"], known["shard-id"]
            try:
                element = self._schema.deserialize(
                    each.value, known["partition-key"], known["sequence-number"], each.timestamp, *place
                )
            except Exception as error:
                raise MessageError(each, error) from error
            if element is not None:
                elements.append(element)
                times.append(each.timestamp)
        known_times = [time for time in times if time is not None]
        return elements, known_times if known_times and len(known_times) == len(elements) else None

    def produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()


class FlinkKinesisConsumer(DelegatingSource):
    """Reads streams: ``env.add_source(FlinkKinesisConsumer("stream", schema, {"aws.region": ...}))``.

        >>> consumer = FlinkKinesisConsumer("orders", SimpleStringSchema(), {"aws.region": "eu-central-1"})

    :param config_props: ``aws.*`` and ``flink.stream.*``, ``flink.shard.*`` as Flink has them.
    :raises ValueError: a property's value is none.
    """

    def __init__(
        self,
        streams: str | Sequence[str],
        deserializer: DeserializationSchema | KinesisDeserializationSchema,
        config_props: Mapping[str, Any],
    ) -> None:
        names = (streams,) if isinstance(streams, str) else tuple(streams)
        given = {key: str(value) for key, value in config_props.items()}
        if given.get(_PUBLISHER, "POLLING").upper() != "POLLING":
            raise NotImplementedError(f"FlinkKinesisConsumer reads by polling: leave out '{_PUBLISHER}' = 'EFO'")
        decoder: MessageDecoder[Any]
        if isinstance(deserializer, KinesisDeserializationSchema):
            decoder = _WholeRecords(deserializer)
        else:
            decoder = SchemaDecoder(deserializer)
        start = given.get(_START, "LATEST").upper()
        self._made = KinesisStreamsSource(
            Kinesis(given),
            names,
            decoder,
            start,
            instant(given.get(_SINCE)) if start == "AT_TIMESTAMP" else None,
            discovery_ms=int(given.get(_DISCOVERY, "10000")),
            most=int(given.get(_MOST, "10000")),
            pause_ms=int(given.get(_PAUSE, str(DEFAULT_PAUSE_MS))),
            empty_pause_ms=int(given.get(_PAUSE, str(DEFAULT_PAUSE_MS))),
        )

    @property
    def _source(self) -> KinesisStreamsSource:
        return self._made

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Shards go round; nothing changes."""
        return self

    def set_periodic_watermark_assigner(self, periodic_watermark_assigner: Any) -> FlinkKinesisConsumer:
        """:raises NotImplementedError: always; a strategy does the same, for each shard."""
        raise NotImplementedError(
            "FlinkKinesisConsumer.set_periodic_watermark_assigner; nearest: env.from_source(consumer, "
            "WatermarkStrategy..., name), which makes watermarks for each shard, too"
        )

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """:raises NotImplementedError: always; strategies align shards."""
        raise NotImplementedError(
            "FlinkKinesisConsumer.set_watermark_tracker; nearest: env.from_source(consumer, "
            "WatermarkStrategy....with_watermark_alignment(group, drift), name)"
        )


def instant(text: str | None) -> int:
    """ms of a time as properties have it: seconds since the epoch, or ISO 8601.

    :raises ValueError: it is none.
    """
    if text is None:
        raise ValueError(f"'{_START}' = 'AT_TIMESTAMP' needs '{_SINCE}'")
    try:
        return int(float(text) * 1000)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        like = "seconds since the epoch, or like 2024-05-01T12:00:00.000+00:00"
        raise ValueError(f"{text!r} is no time: {like}") from None
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return int(found.timestamp() * 1000)
