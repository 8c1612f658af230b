"""Finds the partitions of a Kafka source, again and again, and gives each to a reader."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from millrace.common.source import SplitEnumerator, SplitEnumeratorContext
from millrace.connectors.kafka.cluster import Cluster
from millrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from millrace.connectors.kafka.split import KafkaSplit

if TYPE_CHECKING:
    from millrace.connectors.kafka.source import KafkaSource

logger = logging.getLogger(__name__)


class Discovered(NamedTuple):
    """The state of an enumerator."""

    known: tuple[KafkaTopicPartition, ...]
    """partitions that have been found, wherever they are by now"""
    waiting: tuple[KafkaSplit, ...]
    """splits that no reader has yet"""
    ends: tuple[tuple[KafkaTopicPartition, int], ...] = ()
    """where partitions end that have an end"""


def reader_of(partition: KafkaTopicPartition, parallelism: int) -> int:
    """Which reader a partition belongs to: those of a topic go round, beginning at a place that its name tells."""
    start = 0
    for unit in partition.topic.encode("utf-16-be")[1::2]:
        start = (31 * start + unit) & 0xFFFFFFFF
    return ((start * 31 & 0x7FFFFFFF) % parallelism + partition.partition) % parallelism


class KafkaEnumerator(SplitEnumerator[KafkaSplit]):
    """Asks the brokers at the start, then every so often in a thread of its own.

    Partitions that are found later are read from their beginning: their first records may be older than the finding.
    """

    splits_end = False

    def __init__(
        self, source: KafkaSource[Any], context: SplitEnumeratorContext[KafkaSplit], earlier: Discovered | None = None
    ) -> None:
        self._source = source
        self._context = context
        self._known = set(earlier.known if earlier is not None else ())
        self._waiting = list(earlier.waiting if earlier is not None else ())
        self._ends = dict(earlier.ends if earlier is not None else ())
        self._first = earlier is None
        self._again = source.discovery_ms > 0 and source.stop is None
        self._cluster: Cluster | None = None
        self._lock = threading.Lock()
        self._found: list[KafkaSplit] = []
        """by the thread, and not taken over"""
        self._closed = threading.Event()

    def start(self) -> None:
        """:raises ValueError: a topic is missing. :raises ConnectionError: no broker answers."""
        self._cluster = self._source.cluster()
        if self._first:
            self._waiting += self._discover(self._source.start)
            self._first = False
        if self._again:
            threading.Thread(target=self._look, name="millrace-kafka-partitions", daemon=True).start()

    def _discover(self, start: KafkaOffsetsInitializer) -> list[KafkaSplit]:
        assert self._cluster is not None
        wanted = self._source.subscriber.partitions(self._cluster.partitions())
        new = [each for each in wanted if each not in self._known]
        begins = start.find(new, self._cluster)
        stop = self._source.stop
        ends = {} if stop is None else stop.find(new, self._cluster)
        self._known.update(new)
        self._ends.update(ends)
        return [KafkaSplit(each.topic, each.partition, begins[each], ends.get(each)) for each in new]

    def _look(self) -> None:
        while not self._closed.wait(self._source.discovery_ms / 1000):
            try:
                found = self._discover(KafkaOffsetsInitializer.earliest())
            except Exception as error:
                logger.warning("partitions of Kafka were not looked up, which is tried again: %s", error)
                continue
            if found:
                logger.info("new partitions: %s", ", ".join(each.split_id for each in found))
                with self._lock:
                    self._found += found

    def handle_split_request(self, subtask_id: int) -> None:
        with self._lock:
            self._waiting += self._found
            self._found = []
        parallelism = self._context.current_parallelism()
        for split in self._waiting:
            if reader_of(split.at, parallelism) == subtask_id:
                self._waiting.remove(split)
                self._context.assign_split(split, subtask_id)
                return
        if not self._again:
            self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[KafkaSplit], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> Any:
        with self._lock:
            return Discovered(
                tuple(sorted(self._known)), (*self._waiting, *self._found), tuple(sorted(self._ends.items()))
            )

    def job_ended(self, splits: Sequence[KafkaSplit]) -> None:
        """Tell the group how far the job came: its readers only knew the checkpoint before."""
        if not self._source.commits or self._cluster is None:
            return
        waiting = {each.at for each in self._waiting}
        offsets = {at: end for at, end in self._ends.items() if at not in waiting}
        offsets |= {each.at: each.offset for each in splits}
        self._cluster.commit(offsets)

    def close(self) -> None:
        self._closed.set()
