"""``KinesisStreamsSource``: reads streams from positions, every record once, the records of a key in their order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.kinesis.enumerator import Found, ShardEnumerator, ShardFinished
from millrace.connectors.kinesis.shards import Answer, DynamoDbStreams, Kinesis, ShardService, ShardSplit
from millrace.connectors.messages.message import MessageDecoder, SchemaDecoder
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

STARTS = ("LATEST", "TRIM_HORIZON", "AT_TIMESTAMP")
THREADS = 8
"""that ask for the shards of a subtask"""
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

    def get_produced_type(self) -> Any:
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
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="millrace-kinesis")

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
