"""Translates a plan into a DataFrame: the batch form of every kind of node is one function, inputs first.

The modules of this folder register their forms; they are imported when the first plan is translated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from millrace.common.types import RowKind
from millrace.relational import nodes as n
from millrace.spark.tables import nodes
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part
from millrace.util.names import entered, import_modules

BatchForm = Callable[[Any, list[Part], Context], "Part | DataFrame"]
"""(node, its inputs, what is known of the run) -> its rows, in columns c0, c1, ..."""
F = TypeVar("F", bound=BatchForm)

_forms: dict[type[n.Rel], BatchForm] = {}


def batch_form(kind: type[n.Rel]) -> Callable[[F], F]:
    """Register the decorated function, of a module beside this one, as the batch form of a kind of nodes."""
    return entered(_forms, kind)


def form_of(node: n.Rel) -> BatchForm:
    """:raises NotImplementedError: batch mode has no such node."""
    import_modules(nodes)
    form = _forms.get(type(node))
    if form is None:
        raise NotImplementedError(
            f"{type(node).__name__} runs in streaming mode only: set execution.runtime-mode to it"
        )
    return form


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
        """frames that were cached in Spark; the caller has to ``unpersist`` them"""

    def frame(self, plan: n.Rel) -> DataFrame:
        """Translate a plan into a frame with columns c0, c1, ..., see ``translate``."""
        frame = self.part(plan).frame
        return frame if plan.schema else frame.select()

    def part(self, plan: n.Rel) -> Part:
        """Translate a plan into a ``Part``, for callers that add further steps before they need a frame."""
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
    """Count for each node, by its id, how often its rows are needed: by other nodes of the plans, and once as a plan
    itself."""
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


def unreadable(node: n.Scan) -> Exception | None:
    """Why batch mode cannot read a table, None if it can."""
    name = ".".join(node.path)
    if node.source is None:
        return ValueError(f"table {name} has no connector: it cannot be read")
    if not node.source.kinds <= {RowKind.INSERT}:
        kinds = ", ".join(sorted(kind.name for kind in node.source.kinds))
        return NotImplementedError(
            f"table {name} holds changes ({kinds}), which batch mode cannot read: use streaming mode"
        )
    if not node.source.bounded:
        return ValueError(f"table {name} never ends: give its source an end, or use streaming mode")
    return None
