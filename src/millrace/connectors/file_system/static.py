"""``StaticEnumerator``: the files that are there when the job starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.source import SplitEnumeratorContext
from millrace.connectors.file_system.enumerate import FileEnumeratorProvider
from millrace.connectors.file_system.format import FileFormat
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.queue_enumerator import QueueEnumerator

__all__ = ["StaticEnumerator"]


class StaticEnumerator(QueueEnumerator[FileSplit]):
    """Lists the paths once, when it starts for the first time; after a restart it goes on with the splits left."""

    def __init__(
        self,
        context: SplitEnumeratorContext[FileSplit],
        provider: FileEnumeratorProvider,
        format: FileFormat[Any],
        paths: tuple[str, ...],
        restored: Sequence[FileSplit] | None,
    ) -> None:
        super().__init__(context, restored or ())
        self._provider = provider
        self._format = format
        self._paths = paths
        self._restored = restored is not None

    def start(self) -> None:
        if self._restored:
            return
        files = self._provider.files(self._paths, by_time=False)
        for file in files:
            parts = max(1, self._context.current_parallelism() // len(files))
            self._pending.extend(self._provider.splits(file, self._format, parts))
