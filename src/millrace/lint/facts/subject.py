"""A job that would run: its graph, and what the environment says about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millrace.common.source import Boundedness
from millrace.connectors.datagen import DataGeneratorSource
from millrace.graph.nodes import Graph, Node
from millrace.runtime.jobs import specs


@dataclass(frozen=True)
class Subject:
    """What rules look at."""

    program: str
    """the file of the program; "" for a module that has none"""
    made: Graph
    """as the program made it: its own uids, parallelism and exchanges only"""
    graph: Graph
    """the same after the passes"""
    checkpoints: bool
    """whether the job takes checkpoints"""

    @property
    def streaming(self) -> bool:
        return not self.graph.settings.batch

    @cached_property
    def nodes(self) -> dict[int, Node]:
        """Those after the passes, by id."""
        return self.graph.by_id()

    def above(self, node: Node, stop: Callable[[Node], bool] = lambda _: False) -> Iterator[Node]:
        """The nodes whose elements reach a node, without itself; ``stop`` says beyond which not to look."""
        seen: set[int] = set()
        waiting = [edge.source for edge in node.edges]
        while waiting:
            id = waiting.pop()
            if id in seen:
                continue
            seen.add(id)
            upper = self.nodes[id]
            yield upper
            if not stop(upper):
                waiting += [edge.source for edge in upper.edges]

    def is_endless(self, node: Node) -> bool:
        """Whether elements that come for ever reach a node. What a program makes up itself (datagen) does not count:
        its keys are of a range that the program knows."""
        return any(_is_endless(upper.spec) for upper in (node, *self.above(node)))


def _is_endless(spec: Any) -> bool:
    if not isinstance(spec, specs.Source) or isinstance(spec.source, DataGeneratorSource):
        return False
    return spec.source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
