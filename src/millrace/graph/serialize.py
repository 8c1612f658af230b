"""Pickles a job for its tasks, and explains what can't be pickled: which operator, which function, which variable."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import cloudpickle

from millrace.graph.nodes import GraphError
from millrace.runtime.job import JobGraph, OperatorInfo


def serialize(job: JobGraph) -> bytes:
    """The job as bytes. Raises ``GraphError`` naming the operator and the offending variable."""
    try:
        payload: bytes = cloudpickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise _explain(job, error) from error
    return payload


def _explain(job: JobGraph, error: Exception) -> GraphError:
    for info in job.operators:
        if not _pickles(info.args):
            return GraphError(_text(info.name, info.origin, _owner(info), error, _culprits(_user_objects(info))))
    for edge in job.edges:
        if not _pickles(edge.partitioner):
            info = job.by_id[edge.target]
            parts = [getattr(edge.partitioner, name) for name in edge.partitioner.__dataclass_fields__]
            what = "the key selector or partitioner in front of it"
            return GraphError(_text(info.name, info.origin, what, error, _culprits(parts)))
    return GraphError(f"the job {job.name!r} can't be serialized: {error}")


def _text(name: str, origin: str, what: str, error: Exception, culprits: list[str]) -> str:
    named = f"; it holds {' and '.join(culprits)}, which can't be pickled" if culprits else ""
    return (
        f"operator {name!r} at {origin}: {what} can't be sent to the workers{named}. Create such objects in open() instead, "
        f"or pass what is needed to make them. Cause: {type(error).__name__}: {error}"
    )


def _owner(info: OperatorInfo) -> str:
    for value in _user_objects(info):
        code = getattr(value, "__code__", None)
        if code is not None:
            return f"the function {value.__qualname__!r}"
        return f"{type(value).__name__}"
    return "its function"


def _user_objects(info: OperatorInfo) -> list[Any]:
    """The user's own objects inside an operator's arguments: what adapters wrap, else the arguments."""
    return [_unwrap(value) for value in info.args if not _pickles(value)]


def _unwrap(value: Any) -> Any:
    for attribute in ("function", "func"):
        inner = getattr(value, attribute, None)
        if inner is not None and type(value).__module__.startswith("millrace."):
            return _unwrap(inner)
    return getattr(value, "__self__", value) if type(value).__module__.startswith("millrace.") else value


def _culprits(values: list[Any]) -> list[str]:
    found = []
    for value in values:
        found.extend(_inside(_unwrap(value), depth=0))
    return found[:3]


def _inside(value: Any, depth: int) -> list[str]:
    """Names of the variables inside ``value`` that can't be pickled, the deepest that can be named."""
    if depth > 4 or _pickles(value):
        return []
    found = []
    for name, part in _parts(value):
        if not _pickles(part):
            deeper = _inside(part, depth + 1)
            found.extend(deeper or [f"{name} ({type(part).__name__})"])
    return found


def _parts(value: Any) -> list[tuple[str, Any]]:
    function = getattr(value, "__func__", value)
    parts: list[tuple[str, Any]] = []
    if inspect.isfunction(function):
        variables = inspect.getclosurevars(function)
        parts += [(f"the variable {name!r}", part) for name, part in variables.nonlocals.items()]
        parts += [(f"the global {name!r}", part) for name, part in variables.globals.items()]
    bound = getattr(value, "__self__", None)
    if bound is not None:
        parts.append((f"the {type(bound).__name__} it belongs to", bound))
    if hasattr(value, "__dict__") and not inspect.isfunction(value):
        parts += [(f"the attribute {type(value).__name__}.{name}", part) for name, part in vars(value).items()]
    if isinstance(value, dict):
        parts += [(f"the entry {name!r}", part) for name, part in value.items()]
    if isinstance(value, (list, tuple, set)):
        parts += [(f"the element {index}", part) for index, part in enumerate(value)]
    return parts


def _pickles(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:
        return False
    return True
