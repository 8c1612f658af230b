"""Rows among the rows around them: OVER, Top-N, deduplication."""

from __future__ import annotations

from millrace.relational.fields import Field, Schema
from millrace.relational.nodes.base import Single
from millrace.relational.rex import AggCall, Frame, SortKey
from millrace.relational.rex_text import agg_text, frame_text, keys_text, named


class Over(Single):
    """Aggregates over the rows around each row: the input's columns, then one for each call. All calls of a node share
    partition and order; each has its frame."""

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[tuple[AggCall, Frame], ...]
    produced: Schema

    @property
    def schema(self) -> Schema:
        return self.input.schema + self.produced

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [f"partition={named(self.partition, source)}"] if self.partition else []
        if self.order:
            parts.append(f"order=[{keys_text(self.order, source)}]")
        for (call, frame), column in zip(self.calls, self.produced):
            parts.append(f"{agg_text(call, source)} {frame_text(frame)} AS {column.name}")
        return parts


class Rank(Single):
    """Top-N: the rows of each partition whose rank is from ``first`` to ``last``. ``function`` is ROW_NUMBER, RANK or
    DENSE_RANK. A rule makes it of a filter over an ``Over``; with ``row_number`` the rank is the last column."""

    function: str
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    first: int
    last: int
    number: Field | None = None
    window: tuple[int, int] | None = None
    """window Top-N: the columns of window_start and window_end, which are in ``partition`` too"""

    @property
    def schema(self) -> Schema:
        return self.input.schema if self.number is None else (*self.input.schema, self.number)

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [self.function, f"from={self.first}", f"to={self.last}"]
        if self.partition:
            parts.append(f"partition={named(self.partition, source)}")
        parts.append(f"order=[{keys_text(self.order, source)}]")
        if self.window is not None:
            parts.append(f"window={named(self.window, source)}")
        return parts + ([f"number={self.number.name}"] if self.number is not None else [])


class Deduplicate(Single):
    """The first or last row of each key by a time attribute: Top-1 of a ROW_NUMBER ordered by time."""

    keys: tuple[int, ...]
    time: int
    last: bool
    window: tuple[int, int] | None = None
    number: Field | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema if self.number is None else (*self.input.schema, self.number)

    def details(self) -> list[str]:
        source = self.input.schema
        parts = ["last" if self.last else "first", f"keys={named(self.keys, source)}", f"time={source[self.time].name}"]
        if self.window is not None:
            parts.append(f"window={named(self.window, source)}")
        return parts + ([f"number={self.number.name}"] if self.number is not None else [])
