"""The batch forms of nodes: how each becomes a query or a frame of Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyspark.sql import DataFrame

from millrace.relational import nodes as n
from millrace.spark.tables import nodes
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part
from millrace.util.modules import entered, import_modules

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
