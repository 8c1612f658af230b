"""A lookup join: each row with what an external table has for its key when the row arrives.

The distinct keys of a batch are looked up in one call. Nothing is kept in state, so a row that is taken back is looked
up again, and may find something else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from millrace.common.config_values import to_duration
from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import LookupTableSource
from millrace.relational.values import to_arrow, to_python
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.join_config import holds
from millrace.runtime.tables.keys import group
from millrace.runtime.tables.lookup_cache import CacheSettings, Found, LookupCache
from millrace.runtime.tables.matching import ranges, side_by_side, with_missing


@dataclass(frozen=True)
class Retry:
    """What is done about keys without rows: they may be on their way."""

    attempts: int
    pause: float
    """seconds"""

    @staticmethod
    def of(hint: dict[str, str]) -> Retry | None:
        """From the options of a LOOKUP hint."""
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


@dataclass(frozen=True, kw_only=True)
class LookupJoin(TableConfig):
    """A ``LookupJoin`` node."""

    input: Schema
    source: LookupTableSource
    table: Schema
    """the columns of the external table that are read"""
    columns: tuple[int, ...] | None = None
    """which of the values of a found row they are; None: all"""
    kind: str
    """INNER or LEFT"""
    lookup: tuple[tuple[int, Rex], ...]
    """column of the table -> what it is equal to"""
    condition: Rex | None = None
    """what else must hold, over input and table"""
    options: tuple[tuple[str, str], ...] = ()
    """of the LOOKUP hint. Whether it says 'async' makes no difference: a batch is one request anyway"""
    cache: CacheSettings | None = None

    @cached_property
    def retry(self) -> Retry | None:
        return Retry.of(dict(self.options))

    def operator(self) -> LookupJoinOperator:
        return LookupJoinOperator(self)


class LookupJoinOperator(TableOperator[LookupJoin]):
    def open(self) -> None:
        super().open()
        self._cache = None if self.config.cache is None else LookupCache(self.config.cache)
        try:
            self.config.source.open()
        except Exception as error:
            raise self.context.error(error, during=" in open() of the lookup source") from error

    def close(self) -> None:
        self.config.source.close()
        super().close()

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        evaluator = self.evaluator(rows.columns, len(rows))
        columns = [evaluator.column(expression) for _, expression in config.lookup]
        ids, first, _ = group(columns, len(rows))
        values = [to_python(column.take(first), rex.type) for column, (_, rex) in zip(columns, config.lookup)]
        found = self._find(list(zip(*values)) if values else [()] * len(first))
        starts = np.cumsum([0, *map(len, found)])
        at, to = ranges(starts[:-1][ids], np.diff(starts)[ids])
        content = [row for each in found for row in each]
        places = range(len(config.table)) if config.columns is None else config.columns
        table = [to_arrow([row[place] for row in content], column.type) for place, column in zip(places, config.table)]
        if config.condition is not None and len(at):
            matches = holds(self, config.condition, rows.columns, table, at, to)
            at, to = at[matches], to[matches]
        if config.kind == "LEFT":
            at, to = with_missing(at, to, len(rows))
        kinds = None if rows.kinds is None else rows.kinds[at]
        self.emit_columns(side_by_side(rows.columns, table, at, to), len(at), kinds)

    def _find(self, keys: list[tuple[Any, ...]]) -> list[Found]:
        """The rows of each key. One with a NULL has none."""
        found: dict[int, Found] = {place: () for place, key in enumerate(keys) if None in key}
        now = self.context.clock()
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
        retry = self.config.retry
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
            found = [list(rows) for rows in self.config.source.lookup(keys)]
        except Exception as error:
            raise self.context.error(error, list(keys), " to look up keys") from error
        if len(found) != len(keys):
            raise ValueError(f"the lookup source was asked for {len(keys)} keys and answered {len(found)}")
        return list(found)
