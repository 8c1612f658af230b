"""The cache of a lookup join, in the memory of one task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.configuration import to_duration
from millrace.relational.sources import whole_number

Found = Sequence[tuple[Any, ...]]
"""the rows of a key"""


@dataclass(frozen=True)
class CacheSettings:
    """The size of the cache, and how long entries are valid (ms; None: no limit)."""

    max_rows: int | None = None
    after_write: int | None = None
    after_access: int | None = None
    missing: bool = True
    """whether keys without rows are cached, too"""

    @staticmethod
    def of(options: Mapping[str, str]) -> CacheSettings | None:
        """Made from a table's ``lookup.*`` options; None: there is no cache.

        A FULL cache stores each key from its first use until the next reload.
        """
        kind = options.get("lookup.cache", "").upper()
        old_rows, old_ttl = _count(options, "lookup.cache.max-rows"), options.get("lookup.cache.ttl")
        if kind not in ("", "NONE", "PARTIAL", "FULL"):
            raise ValueError(f"'lookup.cache' is NONE, PARTIAL or FULL, not {kind}")
        if kind == "FULL":
            return CacheSettings(after_write=_millis(options.get("lookup.full-cache.periodic-reload.interval")))
        if kind == "PARTIAL":
            return CacheSettings(
                _count(options, "lookup.partial-cache.max-rows"),
                _millis(options.get("lookup.partial-cache.expire-after-write")),
                _millis(options.get("lookup.partial-cache.expire-after-access")),
                options.get("lookup.partial-cache.cache-missing-key", "true").lower() == "true",
            )
        if kind == "" and old_rows is not None and old_rows > 0:
            missing = options.get("lookup.cache.caching-missing-key", "true").lower() == "true"
            return CacheSettings(old_rows, _millis(old_ttl), None, missing)
        return None


def _count(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    try:
        return None if text is None else whole_number(name, text)
    except ValueError as error:
        raise ValueError(f"'{name}': {error}") from None


def _millis(text: str | None) -> int | None:
    return None if text is None else to_duration(text).to_millis()


class LookupCache:
    """The rows of keys that were looked up; the least recently used keys are removed first."""

    def __init__(self, settings: CacheSettings) -> None:
        self._settings = settings
        self._entries: OrderedDict[Any, tuple[int, int, Found]] = OrderedDict()
        """key -> (time of the write, time of the last access, rows), the least recently used first"""
        self._rows = 0

    def get(self, key: Any, now: int) -> Found | None:
        """The rows of a key; None: they must be looked up."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        written, used, found = entry
        settings = self._settings
        if (settings.after_write is not None and now - written >= settings.after_write) or (
            settings.after_access is not None and now - used >= settings.after_access
        ):
            self._forget(key)
            return None
        self._entries[key] = (written, now, found)
        self._entries.move_to_end(key)
        return found

    def put(self, key: Any, found: Found, now: int) -> None:
        if not found and not self._settings.missing:
            return
        self._entries[key] = (now, now, found)
        self._rows += _size(found)
        while self._settings.max_rows is not None and self._rows > self._settings.max_rows:
            self._forget(next(iter(self._entries)))

    def _forget(self, key: Any) -> None:
        _, _, found = self._entries.pop(key)
        self._rows -= _size(found)


def _size(found: Found) -> int:
    return max(1, len(found))
