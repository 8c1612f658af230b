"""Asks the metadata service again and again; gives new partitions to readers, and takes removed ones from them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from millrace.common.source import SourceEvent, SplitEnumerator, SplitEnumeratorContext
from millrace.connectors.kafka.dynamic.metadata import Subscribed, subscribed
from millrace.connectors.kafka.dynamic.split import DynamicSplit, Parked, Place, Removed
from millrace.connectors.kafka.enumerator import reader_of
from millrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition

if TYPE_CHECKING:
    from millrace.connectors.kafka.dynamic.source import DynamicKafkaSource

logger = logging.getLogger(__name__)


class Discovered(NamedTuple):
    """The state of an enumerator."""

    known: frozenset[tuple[str, str, int]]
    """(cluster, topic, partition) of all that readers have or wait for"""
    waiting: tuple[DynamicSplit, ...]
    parked: tuple[DynamicSplit, ...]
    """of removed topics: they go on here should the topic come back"""
    places: frozenset[Place]


class DynamicEnumerator(SplitEnumerator[DynamicSplit]):
    """Discovery runs in a thread; what it finds is taken over while an epoch is planned."""

    splits_end = False

    def __init__(
        self,
        source: DynamicKafkaSource[Any],
        context: SplitEnumeratorContext[DynamicSplit],
        earlier: Discovered | None = None,
    ) -> None:
        self._source, self._context = source, context
        self._known = set(earlier.known if earlier is not None else ())
        self._waiting = list(earlier.waiting if earlier is not None else ())
        self._parked = {each.split_id: each for each in (earlier.parked if earlier is not None else ())}
        self._places = set(earlier.places if earlier is not None else ())
        self._first = earlier is None
        self._again = source.discovery_ms > 0 and source.stop is None
        self._lock = threading.Lock()
        self._news: list[tuple[set[Place], list[DynamicSplit]]] = []
        """places that are read now, and splits of new partitions; by the thread, and not taken over"""
        self._failure: Exception | None = None
        self._closed = threading.Event()

    def start(self) -> None:
        """:raises ConnectionError: a cluster does not answer."""
        self._take_over(*self._look(self._source.start if self._first else KafkaOffsetsInitializer.earliest()))
        self._first = False
        if self._again:
            threading.Thread(target=self._look_again, name="millrace-kafka-streams", daemon=True).start()

    def _look(self, start: KafkaOffsetsInitializer) -> tuple[set[Place], list[DynamicSplit]]:
        now = subscribed(self._source.subscriber, self._source.service)
        places = {(cluster, topic) for cluster, topics in now.topics.items() for topic in topics}
        return places, [split for cluster in now.topics for split in self._new_in(cluster, now, start)]

    def _new_in(self, cluster: str, now: Subscribed, start: KafkaOffsetsInitializer) -> list[DynamicSplit]:
        asked = self._source.cluster(now.properties[cluster])
        there = asked.partitions()
        wanted = [
            KafkaTopicPartition(topic, number)
            for topic in sorted(now.topics[cluster])
            for number in range(there.get(topic, 0))
            if (cluster, topic, number) not in self._known
        ]
        if not wanted:
            return []
        begins, stop = start.find(wanted, asked), self._source.stop
        ends = {} if stop is None else stop.find(wanted, asked)
        return [DynamicSplit(cluster, self._source.split(each, begins[each], ends.get(each))) for each in wanted]

    def _look_again(self) -> None:
        failures = 0
        while not self._closed.wait(self._source.discovery_ms / 1000):
            try:
                found = self._look(KafkaOffsetsInitializer.earliest())
            except Exception as error:
                failures += 1
                logger.warning("streams of Kafka were not looked up (%d. time in a row): %s", failures, error)
                if failures >= self._source.failures_allowed:
                    self._failure = error
                continue
            failures = 0
            with self._lock:
                self._news.append(found)

    def _take_over(self, places: set[Place], found: Sequence[DynamicSplit]) -> None:
        gone = self._places - places
        if gone:
            self._known = {each for each in self._known if each[:2] not in gone}
            for split in [each for each in self._waiting if each.place in gone]:
                self._waiting.remove(split)
                self._parked[split.split_id] = split
            for subtask in range(self._context.current_parallelism()):
                self._context.send_event_to_source_reader(subtask, Removed(frozenset(gone)))
            logger.info("not read any more: %s", ", ".join(f"{topic} of {cluster}" for cluster, topic in sorted(gone)))
        self._places = places
        for split in found:
            at = (split.cluster, split.split.topic, split.split.partition)
            if at not in self._known:
                self._known.add(at)
                self._waiting.append(self._parked.pop(split.split_id, split))

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        if isinstance(event, Parked):
            split = event.split
            at = (split.cluster, split.split.topic, split.split.partition)
            if at not in self._known:
                self._parked[split.split_id] = split
                return
            # It came back before its reader had let it go.
            fresh = [each for each in self._waiting if each.split_id == split.split_id]
            for each in fresh:
                self._waiting.remove(each)
            self._waiting.append(split)

    def handle_split_request(self, subtask_id: int) -> None:
        if self._failure is not None:
            raise self._failure
        with self._lock:
            news, self._news = self._news, []
        for places, found in news:
            self._take_over(places, found)
        parallelism = self._context.current_parallelism()
        for split in self._waiting:
            if reader_of(split.split.at, parallelism) == subtask_id:
                self._waiting.remove(split)
                self._context.assign_split(split, subtask_id)
                return
        if not self._again:
            self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[DynamicSplit], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> Any:
        parked = tuple(self._parked[each] for each in sorted(self._parked))
        return Discovered(frozenset(self._known), tuple(self._waiting), parked, frozenset(self._places))

    def close(self) -> None:
        self._closed.set()
