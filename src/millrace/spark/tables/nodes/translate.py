"""From a plan to a DataFrame: every node one function, inputs first."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from millrace.relational import nodes as n
from millrace.spark.tables.nodes import aggregates, correlate, joins, leaves, lookup, over, rows, sets, windows
from millrace.spark.tables.steps.context import Context

_LEAVES: dict[type[n.Rel], Callable[[Any, Context], DataFrame]] = {
    n.Scan: leaves.scan,
    n.Values: leaves.values,
    n.StreamScan: leaves.stream_scan,
}
_NODES: dict[type[n.Rel], Callable[[Any, list[DataFrame], Context], DataFrame]] = {
    n.Project: rows.project,
    n.Filter: rows.filter,
    n.Watermark: rows.watermark,
    n.Hinted: rows.hinted,
    n.Expand: rows.expand,
    n.Correlate: correlate.correlate,
    n.SetOp: sets.set_op,
    n.Sort: sets.sort,
    n.Aggregate: aggregates.aggregate,
    n.TableAggregate: aggregates.table_aggregate,
    n.WindowTable: windows.window_table,
    n.WindowAggregate: windows.window_aggregate,
    n.Over: over.over,
    n.Rank: over.rank,
    n.Deduplicate: over.deduplicate,
    n.Join: joins.join,
    n.IntervalJoin: joins.interval_join,
    n.WindowJoin: joins.window_join,
    n.TemporalJoin: joins.temporal_join,
    n.LookupJoin: lookup.lookup_join,
}


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
            found = self._made(plan)
            if id(plan) in self._keep:
                found = found.persist(StorageLevel.MEMORY_AND_DISK)
                self.kept.append(found)
            self._known[id(plan)] = found
        return found

    def _made(self, plan: n.Rel) -> DataFrame:
        leaf = _LEAVES.get(type(plan))
        if leaf is not None:
            return leaf(plan, self._context)
        node = _NODES.get(type(plan))
        if node is None:
            raise NotImplementedError(
                f"{type(plan).__name__} runs in streaming mode only: set execution.runtime-mode to it"
            )
        return node(plan, [self.frame(each) for each in plan.inputs], self._context)
