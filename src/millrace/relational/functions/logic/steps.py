"""Deep expressions, made into lists of steps by ``functions.shallow``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational.deep_calls import deep_calls
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.rex import Call, Rex
from millrace.relational.rex_steps import STEPS, deep


def _infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    raise SignatureError("it is made of calls, and not called itself")


def _by_need(call: Call, evaluator: Evaluator) -> Column:
    with deep_calls():
        return evaluator.value(deep(call))


@scalar(STEPS, _infer, by_need=_by_need)
def _steps(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    value, *others = args
    for step in call.option("steps"):
        value = Evaluator([value, *others], around).value(step)
    return value
