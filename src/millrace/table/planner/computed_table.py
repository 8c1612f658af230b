"""The rows of a batch query as the source of a DataStream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.source import SplitEnumeratorContext
from millrace.connectors.collection import CollectionSource, CollectionSplit
from millrace.connectors.queue_enumerator import QueueEnumerator
from millrace.relational import nodes as n
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import TableSource

Compute = Callable[[], Sequence[Rows]]

_ROW_BY_ROW = (n.Scan, n.StreamScan, n.Values, n.Project, n.Filter, n.Watermark, n.Correlate, n.Hinted)


class ComputedSource(CollectionSource[Rows]):
    """Runs the query when the job begins."""

    def __init__(self, compute: Compute) -> None:
        super().__init__(())
        self._compute = compute

    def create_enumerator(
        self, context: SplitEnumeratorContext[CollectionSplit], checkpoint: Sequence[CollectionSplit] | None = None
    ) -> QueueEnumerator[CollectionSplit]:
        if checkpoint is None:
            self._values = list(self._compute())
        return super().create_enumerator(context, checkpoint)


class ComputedTable(TableSource):
    """A table that a batch query gives."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        def picked() -> list[Rows]:
            found = self._compute()
            return [Rows(record_batch([rows.columns[at] for at in columns], len(rows))) for rows in found]

        return ComputedSource(picked)


def computed(plan: n.Rel, compute: Compute) -> n.Scan:
    """A plan that reads what another one gives when it is computed."""
    return n.Scan(("default_catalog", "default_database", "*computed*"), plan.schema, ComputedTable(compute))


def row_by_row(plan: n.Rel) -> bool:
    """Whether each row of a plan comes of one row of what it reads: then it means the same in a stream."""
    return isinstance(plan, _ROW_BY_ROW) and all(map(row_by_row, plan.inputs))
