"""Look-ups of keys in an external table from one task, with cache and retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.relational.sources import LookupTableSource
from millrace.runtime.bases.operator import OperatorContext
from millrace.runtime.tables.joins.lookup_cache import CacheSettings, Found, LookupCache
from millrace.runtime.tables.joins.lookup_hint import LookupHint, Retry
from millrace.runtime.tables.joins.lookup_thread import LookupThread


@dataclass(frozen=True)
class LookupConfig:
    """A table, and how it is queried."""

    source: LookupTableSource
    retry: Retry | None = None
    cache: CacheSettings | None = None
    width: int | None = None
    """number of columns in a found row; None: not known"""
    timeout: float | None = None
    """time limit for the rows of a batch (s); None: no limit"""

    @staticmethod
    def of(source: Any, hint: Mapping[str, str], width: int | None = None) -> LookupConfig:
        """:param hint: options of the LOOKUP hint.
        :raises ValueError: an option of the hint or of the table has an invalid value.
        """
        found = hint_of(source, hint)
        if found.capacity is not None:
            source.capacity = found.capacity
        return LookupConfig(source, found.retry, CacheSettings.of(getattr(source, "options", {})), width, found.timeout)


def hint_of(source: Any, hint: Mapping[str, str]) -> LookupHint:
    """The hint, completed by the options of the session in which the table was made."""
    table = getattr(source, "table", None)
    return LookupHint.of(hint, None if table is None else table.configuration)


class Lookups:
    """Queries the table in one task."""

    def __init__(self, config: LookupConfig, context: OperatorContext) -> None:
        self._config = config
        self._context = context
        self._cache = None if config.cache is None else LookupCache(config.cache)
        self._thread: LookupThread | None = None

    def open(self) -> None:
        """:raises OperatorError: the source cannot be opened."""
        source, timeout = self._config.source, self._config.timeout
        if timeout is not None:
            self._thread = LookupThread(timeout, "an external table" if source.table is None else source.table.summary)
        try:
            self._run(source.open)
        except Exception as error:
            raise self._context.error(error, during=" in open() of the lookup source") from error

    def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            self._config.source.close()
        else:
            thread.close(self._config.source.close)

    def _run(self, work: Callable[[], Any]) -> Any:
        return work() if self._thread is None else self._thread.run(work)

    def find(self, keys: Sequence[tuple[Any, ...]]) -> list[Found]:
        """The rows of each key. A key with a NULL has none.

        :raises OperatorError: the source fails.
        """
        found: dict[int, Found] = {place: () for place, key in enumerate(keys) if None in key}
        now = self._context.clock()
        if self._cache is not None:
            for place, key in enumerate(keys):
                known = self._cache.get(key, now)
                if known is not None:
                    found[place] = known
        missing = [place for place in range(len(keys)) if place not in found]
        looked_up = self._within_time([keys[place] for place in missing])
        for place, rows in zip(missing, looked_up):
            found[place] = rows
            if self._cache is not None:
                self._cache.put(keys[place], rows, now)
        return [found[place] for place in range(len(keys))]

    def _within_time(self, keys: list[tuple[Any, ...]]) -> list[Found]:
        try:
            found: list[Found] = self._run(lambda: self._ask(keys)) if keys else []
        except TimeoutError as error:
            raise self._context.error(error, keys, " to look up keys") from error
        return found

    def _ask(self, keys: list[tuple[Any, ...]]) -> list[Found]:
        found = self._ask_once(keys)
        retry = self._config.retry
        for _ in range(0 if retry is None else retry.attempts):
            empty = [place for place, rows in enumerate(found) if not rows]
            if not empty:
                break
            assert retry is not None
            time.sleep(retry.pause)
            for place, rows in zip(empty, self._ask_once([keys[place] for place in empty])):
                found[place] = rows
        return found

    def _ask_once(self, keys: Sequence[tuple[Any, ...]]) -> list[Found]:
        if not keys:
            return []
        try:
            found: list[Found] = [list(rows) for rows in self._config.source.lookup(keys)]
        except Exception as error:
            raise self._context.error(error, list(keys), " to look up keys") from error
        if len(found) != len(keys):
            raise ValueError(f"the lookup source was asked for {len(keys)} keys and answered {len(found)}")
        width = self._config.width
        wrong = next((row for rows in found for row in rows[:1] if width is not None and len(row) != width), None)
        if wrong is not None:
            raise ValueError(f"the table has {width} columns, its lookup source gave {len(wrong)}")
        return found
