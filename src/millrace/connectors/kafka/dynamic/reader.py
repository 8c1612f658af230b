"""Reads partitions of several clusters, with a consumer for each."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.source import SourceEvent, SourceReaderContext
from millrace.connectors.kafka.dynamic.metadata import subscribed
from millrace.connectors.kafka.dynamic.split import DynamicSplit, Parked, Place, Removed
from millrace.connectors.kafka.fetching import KafkaSplitReader
from millrace.connectors.kafka.split import KafkaSplit
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

if TYPE_CHECKING:
    from millrace.connectors.kafka.dynamic.source import DynamicKafkaSource

Offsets = dict[str, dict[tuple[str, int], int]]
"""cluster -> partition -> offset"""


@dataclass(frozen=True)
class Dropped(SplitBatch[Any, DynamicSplit]):
    """The last batch of a split that is not read any more.

    :ivar at: where it stands.
    """

    at: DynamicSplit | None = None


class DynamicReader(SourceReaderBase[Any, DynamicSplit]):
    """Commits offsets to the consumer groups, once the checkpoint that has them is recorded."""

    def __init__(self, source: DynamicKafkaSource[Any], context: SourceReaderContext) -> None:
        super().__init__(lambda: DynamicSplitReader(source, context.get_index_of_subtask()))
        self._context, self._commits = context, "group.id" in source.properties
        self._snapshots: deque[tuple[int, Offsets]] = deque()

    def handle_source_events(self, event: SourceEvent) -> None:
        if isinstance(event, Removed):
            self.tell(lambda reader: reader.drop(event.places))

    def emitted(self, batch: SplitBatch[Any, DynamicSplit]) -> None:
        if isinstance(batch, Dropped) and batch.at is not None:
            self._context.send_source_event_to_coordinator(Parked(batch.at))

    def snapshot_state(self, checkpoint_id: int) -> list[DynamicSplit]:
        splits = super().snapshot_state(checkpoint_id)
        if self._commits:
            offsets: Offsets = defaultdict(dict)
            for each in splits:
                offsets[each.cluster][each.split.topic, each.split.partition] = each.split.offset
            self._snapshots.append((checkpoint_id, offsets))
        return splits

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        last: Offsets = {}
        while self._snapshots and self._snapshots[0][0] <= checkpoint_id:
            _, last = self._snapshots.popleft()
        if last:
            self.tell(lambda reader: reader.commit(last))


class DynamicSplitReader(SplitReader[Any, DynamicSplit]):
    def __init__(self, source: DynamicKafkaSource[Any], subtask: int) -> None:
        self._source, self._subtask = source, subtask
        self._readers: dict[str, KafkaSplitReader[Any]] = {}
        self._splits: dict[str, dict[str, KafkaSplit]] = defaultdict(dict)
        self._dropped: list[Dropped] = []

    def handle_splits_changes(self, added: Sequence[DynamicSplit]) -> None:
        by_cluster: dict[str, list[KafkaSplit]] = defaultdict(list)
        for each in added:
            by_cluster[each.cluster].append(each.split)
            self._splits[each.cluster][each.split.split_id] = each.split
        for cluster, splits in by_cluster.items():
            self._reader(cluster).handle_splits_changes(splits)

    def _reader(self, cluster: str) -> KafkaSplitReader[Any]:
        if cluster not in self._readers:
            known = subscribed(self._source.subscriber, self._source.service).properties
            if cluster not in known:
                raise ValueError(f"the metadata service does not know Kafka cluster {cluster!r} any more")
            settings = self._source.settings(known[cluster], self._subtask)
            self._readers[cluster] = KafkaSplitReader(settings, self._source.decoder)
        return self._readers[cluster]

    def fetch(self) -> list[SplitBatch[Any, DynamicSplit]]:
        found: list[SplitBatch[Any, DynamicSplit]] = [*self._dropped]
        self._dropped = []
        for cluster, reader in self._readers.items():
            for batch in reader.fetch():
                left = None if batch.left is None else DynamicSplit(cluster, batch.left)
                if batch.left is None:
                    self._splits[cluster].pop(batch.split_id, None)
                else:
                    self._splits[cluster][batch.split_id] = batch.left
                name = f"{cluster} {batch.split_id}"
                found.append(SplitBatch(name, batch.records, left, batch.timestamps, batch.size))
        return found

    def drop(self, places: frozenset[Place]) -> None:
        """Read these topics no more."""
        for cluster in {cluster for cluster, _ in places}:
            splits = self._splits[cluster]
            gone = [name for name, split in splits.items() if (cluster, split.topic) in places]
            for name in gone:
                at = DynamicSplit(cluster, splits.pop(name))
                self._dropped.append(Dropped(at.split_id, [], None, at=at))
            if cluster in self._readers:
                self._readers[cluster].leave(gone)
                if not splits:
                    self._readers.pop(cluster).close()

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        for cluster, reader in self._readers.items():
            start = f"{cluster} "
            pause, resume = (
                [each.removeprefix(start) for each in names if each.startswith(start)]
                for names in (to_pause, to_resume)
            )
            reader.pause_or_resume_splits(pause, resume)

    def commit(self, offsets: Mapping[str, Mapping[tuple[str, int], int]]) -> None:
        for cluster, known in offsets.items():
            if cluster in self._readers:
                self._readers[cluster].commit(known)

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
