"""The subtasks that keys belong to, for a whole chunk of keys at once."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from itertools import compress, repeat
from operator import length_hint
from typing import Any

import numpy as np

from millrace.runtime.exchange.hash_columns import Hashes, integer_hashes, subtasks_of
from millrace.runtime.exchange.keygroups import UnstableKeyError, stable_hash, unhashable
from millrace.runtime.exchange.scatter import Targets

AT_ONCE = 8_192
"""Keys that are looked up at once: what is known of keys is in the processor's cache after the first thousands of
them, and keys that are new are remembered only as long as they are few."""
_UNKNOWN = 0xFFFF
"""no subtask: there are no more than 32768"""


class BadKeyError(Exception):
    """A key cannot be hashed; the cause says why."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class KeyTargets:
    """Keys -> subtasks. What it has computed it remembers, up to ``LIMIT`` keys.

    When these are too many it forgets them all, though only at every eighth chunk that brings too many: if keys hardly
    come again, remembering them costs more than it gives.
    """

    LIMIT = 65_536
    PATIENCE = 8

    def __init__(self, max_parallelism: int, parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        self._parallelism = parallelism
        self._known: dict[Any, int] = {}
        self._too_many = 0

    def of(self, keys: list[Any]) -> Targets:
        """The subtask of each key.

        :raises BadKeyError: one has no hash that is the same everywhere.
        """
        if len(keys) <= AT_ONCE:
            return self._of_some(keys)
        found = []
        for start in range(0, len(keys), AT_ONCE):
            try:
                found.append(self._of_some(keys[start : start + AT_ONCE]))
            except BadKeyError as error:
                raise BadKeyError(start + error.position) from error.__cause__
        return np.concatenate(found)

    def _of_some(self, keys: list[Any]) -> Targets:
        remaining = iter(keys)
        try:
            known = map(self._known.get, remaining, repeat(_UNKNOWN))
            found: Targets = np.fromiter(known, np.uint16, len(keys))
        except Exception as error:
            position = len(keys) - length_hint(remaining) - 1
            raise BadKeyError(position) from unhashable(keys[position], error)
        unknown = found == _UNKNOWN
        if unknown.any():
            found[unknown] = self._learn(list(compress(keys, unknown.tolist())), keys)
        return found

    def _learn(self, new: list[Any], keys: list[Any]) -> Targets:
        hashes = _column_hashes(new)
        if hashes is None:
            return self._learn_each(new, keys)
        targets = subtasks_of(hashes, self._max_parallelism, self._parallelism)
        self._remember(new, targets.tolist())
        return targets.astype(np.uint16)

    def _learn_each(self, new: list[Any], keys: list[Any]) -> Targets:
        distinct = list(dict.fromkeys(new))
        remaining = iter(distinct)
        try:
            hashes = np.fromiter(map(stable_hash, remaining), np.uint64, len(distinct))
        except Exception as error:
            bad = distinct[len(distinct) - length_hint(remaining) - 1]
            position = next(place for place, key in enumerate(keys) if key is bad)
            raise BadKeyError(position) from (
                error if isinstance(error, UnstableKeyError) else unhashable(bad, error)
            )
        targets = subtasks_of(hashes, self._max_parallelism, self._parallelism)
        learned = dict(zip(distinct, targets.tolist()))
        self._remember(learned.keys(), learned.values())
        return np.fromiter(map(learned.__getitem__, new), np.uint16, len(new))

    def _remember(self, keys: Collection[Any], targets: Iterable[int]) -> None:
        if len(self._known) + len(keys) > self.LIMIT:
            self._too_many += 1
            if self._too_many % self.PATIENCE or len(keys) > self.LIMIT:
                return
            self._known.clear()
        self._known.update(zip(keys, targets))


def _column_hashes(keys: list[Any]) -> Hashes | None:
    """The stable hashes of plain integers or strings; None for others."""
    kinds = set(map(type, keys))
    try:
        if kinds == {int}:
            return integer_hashes(np.array(keys, np.int64))
        if kinds == {str}:
            return np.fromiter(map(zlib.crc32, map(str.encode, keys)), np.uint64, len(keys))
    except (OverflowError, UnicodeEncodeError):
        return None  # larger than 64 bits, or half a surrogate pair
    return None
