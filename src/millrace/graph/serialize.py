"""Pickles a job for its tasks, and explains what can't be pickled: which operator, which function, which variable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from itertools import islice
from typing import Any

from millrace.graph.program import GraphError
from millrace.runtime.failure import describe
from millrace.runtime.operators.job_graph import JobGraph
from millrace.util.by_value import pickled_by_value

DEPTH = 6
"""The most steps into the user's objects in the search for an unpicklable value."""
SHOWN = 3
"""The most unpicklable values that an error names."""


def serialize(job: JobGraph) -> bytes:
    """The job as bytes. Raises ``GraphError`` naming the operator and the offending variable."""
    try:
        payload: bytes = pickled_by_value(job)
    except Exception as error:
        raise _explain(job, error) from error
    return payload


def _explain(job: JobGraph, error: Exception) -> GraphError:
    for info in job.operators:
        for value in info.spec.parts():
            if not pickles(value):
                return GraphError(_text(f"operator {info.name!r} at {info.origin}", value, error))
    for edge in job.edges:
        reader = job.by_id[edge.target]
        for name in edge.partitioner.__dataclass_fields__:
            value = getattr(edge.partitioner, name)
            if not pickles(value):
                where = getattr(edge.partitioner, "origin", "") or f"operator {reader.name!r} at {reader.origin}"
                return GraphError(_text(where, value, error))
    return GraphError(f"the job {job.name!r} can't be serialized: {describe(error)}")


def _text(where: str, value: Any, error: Exception) -> str:
    value = _unwrap(value)
    culprits = list(islice(_culprits(value), SHOWN))
    holds = f": it holds {' and '.join(culprits)}" if culprits else ""
    return (
        f"{where}: {_called(value)} can't be sent to the workers{holds}\n"
        f"  cause:   {describe(error)}\n"
        f"  instead: make such an object in open() of a function class, or in the function itself"
    )


def _unwrap(value: Any) -> Any:
    """The user's own object behind the adapters and bound methods of handles."""
    while True:
        inner = None
        if type(value).__module__.startswith("millrace."):
            inner = getattr(value, "function", None) or getattr(value, "func", None)
        elif inspect.ismethod(value):
            inner = value.__self__
        if inner is None:
            return value
        value = inner


def _called(value: Any) -> str:
    name = getattr(value, "__name__", None)
    if name == "<lambda>":
        return "its lambda"
    if name is not None:
        return f"its function {name}"
    return f"its {type(value).__name__}"


def _culprits(value: Any) -> Iterator[str]:
    seen = {id(value)}
    for what, path, part in held(value):
        if id(part) not in seen and not pickles(part):
            yield from _inside(what, path, part, DEPTH, seen)


def _inside(what: str, path: str, value: Any, depth: int, seen: set[int]) -> Iterator[str]:
    """The unpicklable parts of ``value``, as deep as they can be named, each once."""
    seen.add(id(value))
    found = False
    if depth:
        if inspect.isroutine(value):
            parts = [(inner, f"{name} of {path}", part) for inner, name, part in held(value)]
        else:
            parts = [(what, path + step, part) for step, part in _parts(value)]
        for inner, longer, part in parts:
            if id(part) in seen or not pickles(part):
                found = True
                if id(part) not in seen:
                    yield from _inside(inner, longer, part, depth - 1, seen)
    if not found:
        yield f"{what} {path} (of type {type(value).__name__})"


def held(value: Any) -> list[tuple[str, str, Any]]:
    """The values that a function or function object holds, as (kind of name, name, value)."""
    value = _unwrap(value)
    if isinstance(value, functools.partial):
        parts = [("the argument", f"{index}", part) for index, part in enumerate(value.args)]
        parts += [("the argument", name, part) for name, part in value.keywords.items()]
        return parts + held(value.func)
    if inspect.isfunction(value):
        try:
            variables = inspect.getclosurevars(value)
        except ValueError:  # a variable of the closure has no value yet
            return []
        return [
            *(("the variable", name, part) for name, part in variables.nonlocals.items()),
            *(("the global", name, part) for name, part in variables.globals.items()),
            *(("the default", str(index), part) for index, part in enumerate(value.__defaults__ or ())),
        ]
    return [("the attribute", f"{type(value).__name__}{step}", part) for step, part in _parts(value)]


def _parts(value: Any) -> list[tuple[str, Any]]:
    """(the step to a part as Python code, the part)."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", part) for index, part in enumerate(value)]
    if _refuses(value) or isinstance(value, type) or inspect.ismodule(value):
        return []
    return [(f".{name}", part) for name, part in getattr(value, "__dict__", {}).items()]


def _refuses(value: Any) -> bool:
    """Whether the class defines its own pickling, so that it is to blame and not its parts."""
    own = type(value).__mro__[:-1]
    return any(name in kind.__dict__ for kind in own for name in ("__reduce__", "__reduce_ex__", "__getstate__"))


def pickles(value: Any) -> bool:
    """Whether a value can be pickled for the workers."""
    try:
        pickled_by_value(value)
    except Exception:
        return False
    return True
