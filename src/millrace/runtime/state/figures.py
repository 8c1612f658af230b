"""The figures by which a store of keyed state tells of itself: their names, which are those of Flink's metrics of
RocksDB where these mean the same, and the gauges that report them.

A figure is a whole number. Times are in milliseconds of the wall clock, sizes in bytes. What is counted begins with
zero in each process that a task lives in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from millrace.metrics.metricbase import MetricGroup

Figures = dict[str, int]
"""name -> value"""

ROWS = "estimate-num-keys"
"""rows or entries; on disk removed ones and older versions count until they are merged away"""
MEMORY_BYTES, MEMORY_LIMIT = "block-cache-usage", "block-cache-capacity"
"""bytes of rows in memory, and the bytes of unchanged rows that may be there"""
HITS, MISSES = "block-cache-hit", "block-cache-miss"
"""looked-up hashes of keys whose rows were in memory; those that were looked for on disk"""
ROWS_READ, ROWS_EVICTED = "rows-read", "rows-evicted"
"""rows that came from disk into memory; rows that left memory"""
DISK_BYTES, FILES = "total-sst-files-size", "num-files"
"""bytes and number of the runs"""
WRITTEN_BYTES, WRITE_MILLIS = "bytes-written", "flush-millis"
"""bytes of new runs, and the time to write them"""
MERGES, MERGED_BYTES, MERGE_MILLIS = "num-running-compactions", "compaction-write-bytes", "compaction-millis"
"""merges that go on now; bytes of merged runs, and the time of merging"""
MAP_BYTES, USED_BYTES, ENTRIES, WRITES = "map-size", "used-bytes", "num-entries", "num-writes"
"""of an LMDB environment: its memory map, its pages that are in use, its entries, and its writing transactions"""

OF_STATES, OF_TASK = "stateStore", "taskStore"
"""names of the groups of metrics: of states, each in a group of its name, and of the LMDB environment of a task"""


class StoreGauges:
    """The gauges of one operator that report the figures of its states, made when a state first has figures."""

    def __init__(self, group: MetricGroup) -> None:
        self._group = group
        self._latest: dict[tuple[str, ...], Figures] = {}

    def take(self, figures: Mapping[tuple[str, ...], Figures]) -> None:
        """The present figures, by the path of their group."""
        for path, values in figures.items():
            latest = self._latest.get(path)
            if latest is None:
                latest = self._latest[path] = {}
                self._add(path, values, latest)
            latest.update(values)

    def _add(self, path: tuple[str, ...], values: Figures, latest: Figures) -> None:
        group = self._group
        for name in path:
            group = group.add_group(name)
        for name in values:
            group.gauge(name, partial(latest.__getitem__, name))
