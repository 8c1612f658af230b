"""An external table that a task asks for the rows of keys: what it remembers, and when it asks again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.config_values import to_duration
from millrace.relational.sources import LookupTableSource
from millrace.runtime.bases.base import OperatorContext
from millrace.runtime.tables.joins.lookup_cache import CacheSettings, Found, LookupCache


@dataclass(frozen=True)
class Retry:
    """What is done about keys without rows: they may be on their way."""

    attempts: int
    pause: float
    """seconds"""

    @staticmethod
    def of(hint: Mapping[str, str]) -> Retry | None:
        """From the options of a LOOKUP hint.

        :raises ValueError: they say something that is not possible.
        """
        if hint.get("retry-predicate") is None:
            return None
        if hint["retry-predicate"].lower() != "lookup_miss":
            raise ValueError(f"'retry-predicate' of a LOOKUP hint is lookup_miss, not {hint['retry-predicate']}")
        if hint.get("retry-strategy", "fixed_delay").lower() != "fixed_delay":
            raise ValueError(f"'retry-strategy' of a LOOKUP hint is fixed_delay, not {hint['retry-strategy']}")
        missing = [name for name in ("fixed-delay", "max-attempts") if name not in hint]
        if missing:
            raise ValueError(f"a LOOKUP hint with 'retry-predicate' needs '{missing[0]}', too")
        return Retry(int(hint["max-attempts"]), to_duration(hint["fixed-delay"]).to_millis() / 1000)


@dataclass(frozen=True)
class LookupConfig:
    """A table and how it is asked."""

    source: LookupTableSource
    retry: Retry | None = None
    cache: CacheSettings | None = None
    width: int | None = None
    """columns of a found row; None: not known"""

    @staticmethod
    def of(source: Any, hint: Mapping[str, str], width: int | None = None) -> LookupConfig:
        """:param hint: options of the LOOKUP hint. Whether it says 'async' makes no difference: the distinct keys of a
            batch are one request anyway.
        :raises ValueError: the hint, or an option of the table, says something that is not possible.
        """
        return LookupConfig(source, Retry.of(hint), CacheSettings.of(getattr(source, "options", {})), width)


class Lookups:
    """The table in one task."""

    def __init__(self, config: LookupConfig, context: OperatorContext) -> None:
        self._config = config
        self._context = context
        self._cache = None if config.cache is None else LookupCache(config.cache)

    def open(self) -> None:
        """:raises OperatorError: the source cannot be opened."""
        try:
            self._config.source.open()
        except Exception as error:
            raise self._context.error(error, during=" in open() of the lookup source") from error

    def close(self) -> None:
        self._config.source.close()

    def find(self, keys: Sequence[tuple[Any, ...]]) -> list[Found]:
        """The rows of each key. One with a NULL has none.

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
        looked_up = self._ask([keys[place] for place in missing])
        for place, rows in zip(missing, looked_up):
            found[place] = rows
            if self._cache is not None:
                self._cache.put(keys[place], rows, now)
        return [found[place] for place in range(len(keys))]

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
