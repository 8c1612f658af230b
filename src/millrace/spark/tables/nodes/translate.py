"""From a plan to a DataFrame: every node one function, inputs first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from millrace.relational import nodes as n
from millrace.spark.tables.nodes.forms import form_of
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part


def translate(plan: n.Rel, context: Context) -> DataFrame:
    """The frame of a plan, with columns c0, c1, ... of the types of its schema.

    :raises NotImplementedError: batch mode has no such node.
    """
    return Translation(context).frame(plan)


class Translation:
    """Frames of plans. A node that occurs twice as the same object is translated once.

    :param keep: the ids of nodes whose rows Spark is to keep once they are computed.
    """

    def __init__(self, context: Context, keep: Collection[int] = ()) -> None:
        self._context = context
        self._keep = keep
        self._known: dict[int, Part] = {}
        self._needed: Counter[int] = Counter()
        self.kept: list[DataFrame] = []
        """frames that Spark keeps until somebody calls ``unpersist``"""

    def frame(self, plan: n.Rel) -> DataFrame:
        """As ``translate``."""
        frame = self.part(plan).frame
        return frame if plan.schema else frame.select()

    def part(self, plan: n.Rel) -> Part:
        """The same to go on with."""
        self._needed += times_needed([plan])
        return self._part(plan)

    def _part(self, plan: n.Rel) -> Part:
        found = self._known.get(id(plan))
        if found is None:
            found = self._known[id(plan)] = self._made(plan)
        return found

    def _made(self, plan: n.Rel) -> Part:
        made = form_of(plan)(plan, [self._part(each) for each in plan.inputs], self._context)
        part = made if isinstance(made, Part) else Part.of_frame(made)
        if id(plan) in self._keep:
            frame = part.frame.persist(StorageLevel.MEMORY_AND_DISK)
            self.kept.append(frame)
            return Part.of_frame(frame)
        if self._needed[id(plan)] > 1:
            part.keep_as_view()
        return part


def times_needed(plans: Collection[n.Rel]) -> Counter[int]:
    """The id of each node -> how many others of the plans, or of those who want them, need its rows."""
    needed: Counter[int] = Counter(id(plan) for plan in plans)
    seen: set[int] = set()
    rest = list(plans)
    while rest:
        node = rest.pop()
        if id(node) not in seen:
            seen.add(id(node))
            needed.update(map(id, node.inputs))
            rest += node.inputs
    return needed
