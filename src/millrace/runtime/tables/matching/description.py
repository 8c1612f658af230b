"""The description of MATCH_RECOGNIZE for an operator: the node of the plan, and the clock of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millrace.relational.nodes.keyed_nodes import Match
from millrace.relational.rex import MatchAggregate, Ref, Rex, Schema, walk
from millrace.runtime.functions.runner import wrappers_in


@dataclass(frozen=True)
class Matching:
    """A ``Match`` node without its input."""

    input: Schema
    node: Match
    """the node, with an empty node in place of its input"""

    @property
    def time(self) -> int:
        """Index of the column by which rows are ordered first."""
        first = self.node.order[0].expression
        assert isinstance(first, Ref)
        return first.index

    def expressions(self) -> Iterator[Rex]:
        """All expressions over rows and matches."""
        yield from (condition for _, condition in self.node.defines)
        yield from self.node.measures

    def wrappers(self) -> Iterator[Any]:
        """The wrappers of the user's functions in these expressions."""
        for expression in self.expressions():
            yield from wrappers_in(expression)
            for part in walk(expression):
                if isinstance(part, MatchAggregate):
                    yield from wrappers_in(part.call)
