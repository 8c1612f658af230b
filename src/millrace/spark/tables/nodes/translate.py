"""From a plan to a DataFrame: every node one function, inputs first."""

from __future__ import annotations

from collections.abc import Collection

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from millrace.relational import nodes as n
from millrace.spark.tables.nodes.forms import form_of
from millrace.spark.tables.steps.context import Context


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
        self._known: dict[int, DataFrame] = {}
        self.kept: list[DataFrame] = []
        """frames that Spark keeps until somebody calls ``unpersist``"""

    def frame(self, plan: n.Rel) -> DataFrame:
        """As ``translate``."""
        found = self._known.get(id(plan))
        if found is None:
            found = form_of(plan)(plan, [self.frame(each) for each in plan.inputs], self._context)
            if id(plan) in self._keep:
                found = found.persist(StorageLevel.MEMORY_AND_DISK)
                self.kept.append(found)
            self._known[id(plan)] = found
        return found
