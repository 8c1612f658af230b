"""All kinds of window functions as a ``ProcessWindowFunction``, which is the one that the runtime calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millrace.datastream.keyed_adapters import Adapter

Anything = ProcessWindowFunction[Any, Any, Any, Any]


class EmitContents(Anything):
    """No window function: what the window holds is the result."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return elements


class Apply(Adapter[WindowFunction[Any, Any, Any, Any]], Anything):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return self.function.apply(key, context.window(), elements)


class ApplyAll(Adapter[AllWindowFunction[Any, Any, Any]], Anything):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return self.function.apply(context.window(), elements)


class ProcessAll(Adapter[ProcessAllWindowFunction[Any, Any, Any]], Anything):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return self.function.process(context, elements)

    def clear(self, context: Any) -> None:
        self.function.clear(context)


def of_keyed(function: Any) -> Anything | None:
    """A window function of a keyed stream; None for anything else."""
    if function is None:
        return EmitContents()
    if isinstance(function, WindowFunction):
        return Apply(function)
    return function if isinstance(function, ProcessWindowFunction) else None


def of_all(function: Any) -> Anything | None:
    """A window function of a stream without keys; None for anything else."""
    if function is None:
        return EmitContents()
    if isinstance(function, AllWindowFunction):
        return ApplyAll(function)
    return ProcessAll(function) if isinstance(function, ProcessAllWindowFunction) else None
