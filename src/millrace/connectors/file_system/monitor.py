"""``MonitoringEnumerator``: finds files that appear while the job runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from millrace.common.source import SplitEnumerator, SplitEnumeratorContext
from millrace.connectors.file_system.enumerate import FileEnumeratorProvider
from millrace.connectors.file_system.format import FileFormat
from millrace.connectors.file_system.split import FileSplit

__all__ = ["MonitoringEnumerator", "MonitoringState"]


@dataclass(frozen=True)
class MonitoringState:
    """What a restart needs: the splits not yet handed out and the files seen."""

    pending: tuple[FileSplit, ...]
    seen: frozenset[bytes]
    """digests of the files' names"""
    missing: frozenset[bytes] = frozenset()
    """those of ``seen`` that the last listing did not have"""


class MonitoringEnumerator(SplitEnumerator[FileSplit]):
    """Lists the paths every ``interval_ms`` and hands out the files not seen before, oldest first.

    A file is read once, as it is when it is found: move finished files in by renaming them. What was read is remembered
    as long as it is there: a file that was deleted, and is missing in two listings one after the other, is forgotten.
    (A limit by time of modification would lose files that come late with an old one, as copies and moves do.)
    """

    def __init__(
        self,
        context: SplitEnumeratorContext[FileSplit],
        provider: FileEnumeratorProvider,
        format: FileFormat[Any],
        paths: tuple[str, ...],
        interval_ms: int,
        state: MonitoringState | None,
    ) -> None:
        self._context = context
        self._provider = provider
        self._format = format
        self._paths = paths
        self._interval_ms = interval_ms
        self._pending = deque(state.pending if state else ())
        self._seen = set(state.seen if state else ())
        self._missing = set(state.missing if state else ())
        self._next_discovery = 0

    def start(self) -> None:
        self._discover()

    def _discover(self) -> None:
        self._next_discovery = self._context.current_processing_time() + self._interval_ms
        found: set[bytes] = set()
        for file in self._provider.files(self._paths, by_time=True):
            digest = blake2b(file.key.encode(errors="surrogateescape"), digest_size=16).digest()
            found.add(digest)
            if digest not in self._seen:
                self._seen.add(digest)
                self._pending.extend(self._provider.splits(file, self._format, parts=1))
        missing = self._seen - found
        self._seen -= missing & self._missing
        self._missing = missing & self._seen

    def handle_split_request(self, subtask_id: int) -> None:
        if self._context.current_processing_time() >= self._next_discovery:
            self._discover()
        if self._pending:
            self._context.assign_split(self._pending.popleft(), subtask_id)

    def add_splits_back(self, splits: Sequence[FileSplit], subtask_id: int) -> None:
        self._pending.extendleft(reversed(splits))

    def snapshot_state(self, checkpoint_id: int) -> MonitoringState:
        return MonitoringState(tuple(self._pending), frozenset(self._seen), frozenset(self._missing))
