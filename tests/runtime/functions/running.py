"""A runner of functions without an operator, and evaluators with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Ref, Rex, UdfCall
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.runtime.bases.operator import OperatorContext
from millrace.runtime.bases.runtime_context import OperatorRuntimeContext
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.runner import FunctionRunner, wrappers_in


def runner(*wrappers: Any, files: dict[str, str] | None = None, **configuration: str) -> FunctionRunner:
    """The functions of the second of three subtasks."""
    runtime = OperatorRuntimeContext("Calc", 1, 3, 128, job_parameters={"color": "green"}, cached_files=files)
    context = OperatorContext(runtime, "Calc", "job.py:7", None, {}, lambda: 0)
    return FunctionRunner(context, configuration, wrappers)


def call(wrapper: Any, *args: Rex) -> UdfCall:
    """A call of a scalar function."""
    kinds = wrapper.vectorized, wrapper.asynchronous, wrapper.deterministic
    return UdfCall(wrapper.result_type, wrapper, wrapper.name, args, *kinds)


def computed(rows: Sequence[tuple[Any, ...]], types: Sequence[DataType], *expressions: Rex) -> list[list[Any]]:
    """The values of each expression over these rows, by one evaluator."""
    columns = [to_arrow([row[at] for row in rows], each) for at, each in enumerate(types)]
    with runner(*wrappers_in(expressions)) as functions:
        evaluator = FunctionEvaluator(columns, Surroundings(len(rows)), functions)
        return [evaluator.column(each).to_pylist() for each in expressions]


def column(place: int, data_type: DataType) -> Ref:
    return Ref(data_type, place)
