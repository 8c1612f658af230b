"""The inserts of one job: what they have in common is computed once, and all of them show, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from millrace.relational import nodes as n
from millrace.relational.rules.batch import optimise
from millrace.relational.rules.sharing import share_as_set
from millrace.spark.shipping.provision import interpreter
from millrace.spark.tables.constraints import enforced
from millrace.spark.tables.nodes.translate import Translation
from millrace.spark.tables.settings import active
from millrace.spark.tables.sinks import writing
from millrace.spark.tables.steps.context import Context


class Inserts:
    """Plans that end in sinks, as frames.

    :raises NotImplementedError: a plan has no form in batch mode, or a table cannot be overwritten.
    """

    def __init__(self, sinks: Sequence[n.Sink], context: Context) -> None:
        for sink in sinks:
            if sink.wants_one_row:
                raise NotImplementedError(
                    f"ON CONFLICT DO {sink.on_conflict} into {'.'.join(sink.path)} runs in streaming mode only: rows "
                    "of batch mode have no order; nearest: ROW_NUMBER() over the key, WHERE it is 1"
                )
        settings = context.surroundings.configuration
        plans = [optimise(sink.input, context.surroundings) for sink in sinks]
        if len(plans) > 1:
            plans = share_as_set(plans, settings)
        translation = Translation(context, _shared(plans))
        with active(context.session), interpreter(context.session.sparkContext, context.python):
            parts = [enforced(translation.part(plan), sink.columns, context) for sink, plan in zip(sinks, plans)]
            self._writings = [writing(sink, part, context) for sink, part in zip(sinks, parts)]
        self._kept = translation.kept

    def write(self) -> list[int | None]:
        """Write all.

        :returns: the rows written into each table; None where the connector does not tell.
        """
        try:
            for each in self._writings:
                each.prepare()
            return [each.commit() for each in self._writings]
        finally:
            for each in self._writings:
                each.end()
            for frame in self._kept:
                frame.unpersist()


def _shared(plans: Sequence[n.Rel]) -> set[int]:
    """The ids of nodes that several others need. Rows that stand in a query are as cheap as their copy."""
    needed: Counter[int] = Counter()
    seen: set[int] = set()
    rest = list(plans)
    for plan in plans:
        needed[id(plan)] += 1
    while rest:
        node = rest.pop()
        if id(node) not in seen:
            seen.add(id(node))
            needed.update(id(each) for each in node.inputs if not isinstance(each, n.Values))
            rest += node.inputs
    return {node for node, times in needed.items() if times > 1}
