"""Whole tables: set operations, ORDER BY, LIMIT."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational.fields import Schema
from millrace.relational.nodes.base import Rel, SameSchema
from millrace.relational.rex import SortKey
from millrace.relational.rex_text import keys_text


class SetOp(Rel):
    """UNION, INTERSECT, EXCEPT; ``all`` keeps duplicates. The branches have the types of ``columns``."""

    kind: str
    all: bool
    branches: tuple[Rel, ...]
    columns: Schema

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return self.branches

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, branches=inputs)

    def details(self) -> list[str]:
        return [f"{self.kind}{' ALL' if self.all else ''}"]


class Sort(SameSchema):
    """ORDER BY with OFFSET and FETCH; without keys it is LIMIT alone."""

    keys: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None

    def details(self) -> list[str]:
        parts = [keys_text(self.keys, self.input.schema)] if self.keys else []
        parts += [f"offset={self.offset}"] if self.offset else []
        return parts + ([f"fetch={self.fetch}"] if self.fetch is not None else [])
