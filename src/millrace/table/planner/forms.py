"""The streaming forms of nodes: what each says of its changes, and how it becomes operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.relational import nodes as n
from millrace.table.planner import nodes
from millrace.table.planner.changes import Changes
from millrace.util.modules import import_modules

if TYPE_CHECKING:
    from millrace.table.planner.plan import Plan, Planned

Operators = Callable[["Plan", Any, bool], "Planned"]
"""(plan, node, whether its consumer needs the old rows of updates) -> its operators added"""
ChangesOf = Callable[[Any, list[Changes]], Changes]
"""(node, the changes of its inputs) -> those of its result"""


@dataclass(frozen=True)
class StreamingForm:
    """Of one kind of node."""

    operators: Operators
    changes: ChangesOf


_forms: dict[type[n.Rel], StreamingForm] = {}


def streaming_form(*kinds: type[n.Rel], changes: ChangesOf) -> Callable[[Operators], Operators]:
    """Register how nodes of these kinds become operators, in a module of ``planner/nodes``."""

    def register(operators: Operators) -> Operators:
        _forms.update(dict.fromkeys(kinds, StreamingForm(operators, changes)))
        return operators

    return register


def form_of(node: n.Rel) -> StreamingForm:
    """:raises NotImplementedError: this kind of node has no streaming form."""
    import_modules(nodes)
    form = _forms.get(type(node))
    if form is None:
        raise NotImplementedError(f"{type(node).__name__} has no streaming form")
    return form


def changes_of(node: n.Rel, inputs: Sequence[Changes] | None = None) -> Changes:
    """The changes of a node's result.

    :param inputs: those of its inputs, if they are known.
    :raises NotImplementedError: this kind of node has no streaming form.
    """
    return form_of(node).changes(node, list(map(changes_of, node.inputs)) if inputs is None else list(inputs))
