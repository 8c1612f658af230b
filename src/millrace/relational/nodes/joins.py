"""Joins."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import Any

from millrace.relational.fields import Schema
from millrace.relational.nodes.base import Rel, Single, nullable
from millrace.relational.rex import Rex
from millrace.relational.rex_text import named, rex_text
from millrace.util.secrets import mask_options

JOIN_KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")


class _Two(Rel):
    left: Rel
    right: Rel
    kind: str

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, left=inputs[0], right=inputs[1])

    @cached_property
    def schema(self) -> Schema:
        # Kept: rules ask for it again and again, and each join would ask all that are below it.
        return self._columns()

    def _columns(self) -> Schema:
        """Of an outer join's optional side every column may be NULL."""
        if self.kind in ("SEMI", "ANTI"):
            return self.left.schema
        return nullable(self.left.schema, self.kind in ("RIGHT", "FULL")) + nullable(
            self.right.schema, self.kind in ("LEFT", "FULL")
        )


class Join(_Two):
    """A regular join: both sides are kept, whatever comes later may still match. ``condition`` is over both inputs."""

    condition: Rex
    null_aware: bool = False
    """an ANTI join for NOT IN: NULLs on either side make the comparison unknown"""

    def _columns(self) -> Schema:
        # A regular join delays nothing, so its rows are not in the order of any time: no time attributes.
        return tuple(each if each.time is None else replace(each, time=None) for each in super()._columns())

    def details(self) -> list[str]:
        both = self.left.schema + self.right.schema
        return [self.kind, rex_text(self.condition, both), *(["null aware"] if self.null_aware else [])]


class IntervalJoin(_Two):
    """A join whose condition bounds the time between two rows: lower <= right time - left time <= upper (ms)."""

    condition: Rex
    left_time: int
    right_time: int
    """column of the right input"""
    lower: int
    upper: int

    def details(self) -> list[str]:
        left, right = self.left.schema[self.left_time].name, self.right.schema[self.right_time].name
        condition = rex_text(self.condition, self.left.schema + self.right.schema)
        return [self.kind, condition, f"{right} - {left} in [{self.lower}, {self.upper}] ms"]


class WindowJoin(_Two):
    """A join of two windowed inputs with equal windows."""

    condition: Rex
    left_window: tuple[int, int]
    right_window: tuple[int, int]
    """columns of the right input"""

    def details(self) -> list[str]:
        condition = rex_text(self.condition, self.left.schema + self.right.schema)
        windows = f"{named(self.left_window, self.left.schema)} = {named(self.right_window, self.right.schema)}"
        return [self.kind, condition, windows]


class TemporalJoin(_Two):
    """FOR SYSTEM_TIME AS OF left time: each left row with the version of the right table that was valid then. ``kind``
    is INNER or LEFT. The right input's key and time come from its primary key and watermark."""

    condition: Rex
    left_time: int
    right_time: int | None
    """None: processing time, the newest version"""
    right_key: tuple[int, ...]

    def details(self) -> list[str]:
        version = "newest" if self.right_time is None else self.right.schema[self.right_time].name
        condition = rex_text(self.condition, self.left.schema + self.right.schema)
        of = self.left.schema[self.left_time].name
        return [
            self.kind,
            condition,
            f"as of {of}",
            f"version={version}",
            f"key={named(self.right_key, self.right.schema)}",
        ]


class LookupJoin(Single):
    """Each row with the rows that an external table has for its key at that moment. ``kind`` is INNER or LEFT."""

    source: Any = field(compare=False)
    """a ``LookupTableSource`` (``relational.sources``)"""
    path: tuple[str, str, str]
    table: Schema
    """the columns of the external table that are read"""
    kind: str
    lookup: tuple[tuple[int, Rex], ...]
    """column of the table -> what it is equal to: a column of the input, or a literal"""
    condition: Rex | None = None
    """what else must hold, over input and table"""
    options: tuple[tuple[str, str], ...] = ()
    """of the LOOKUP hint"""

    @property
    def schema(self) -> Schema:
        return self.input.schema + nullable(self.table, self.kind == "LEFT")

    def details(self) -> list[str]:
        source = self.input.schema
        keys = ", ".join(f"{self.table[at].name} = {rex_text(key, source)}" for at, key in self.lookup)
        parts = [self.kind, ".".join(self.path), keys]
        if self.condition is not None:
            parts.append(rex_text(self.condition, source + self.table))
        return parts + ([f"options={mask_options(dict(self.options))}"] if self.options else [])
