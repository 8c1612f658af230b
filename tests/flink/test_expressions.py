"""Expressions give what Flink gives: type, values and failure, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.flink import corpus
from tests.flink.asking import Asked, answers, ask, batched, same, streamed
from tests.flink.known import EXPRESSIONS, TYPES

from millrace.relational.nodes import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = corpus.expressions()
SIZE, ROWS = 40, 5
"""expressions of one query, and rows that they are made of"""
STARTS = range(0, len(TEXTS), SIZE)
Run = Callable[[Asked], list[list[Any]]]


def answer_of(text: str) -> dict[str, Any]:
    found = answers("expressions").get(text)
    assert found is not None, f"Flink was never asked {text}: run `make flink RECORD=1`"
    return found


def planned(text: str, mode: str) -> Asked | None:
    """None: it is refused."""
    try:
        return ask(mode, f"SELECT {text} AS c FROM t", ROWS if mode == corpus.STREAMING else 1)
    except Exception:
        return None


def difference(text: str, values: list[Any] | Exception | None, kind: str | None, wanted: dict[str, Any]) -> str:
    """What is not as Flink has it; empty if nothing is.

    :param values: what it gives, or why it fails; None: it is refused.
    :param kind: the type; None: it is not looked at.
    """
    if values is None or isinstance(values, Exception):
        return "" if "fails" in wanted else f"fails ({values!r}), Flink gives {wanted['values']}"
    if "fails" in wanted:
        return f"gives {values}, with Flink it fails ({wanted['fails']})"
    if kind is not None and text not in TYPES and kind != wanted["type"]:
        return f"has type {kind}, with Flink {wanted['type']}"
    if not same(values, wanted["values"], "FLOAT" in wanted["type"]):
        return f"gives {values}, Flink {wanted['values']}"
    return ""


def check(texts: list[str], asked: dict[str, Asked], run: Run, with_types: bool) -> None:
    """What is not as Flink has it is listed, and nothing else."""
    found = values_of(asked, run)
    wrong = []
    for text in texts:
        kind = asked[text].types[0] if with_types and text in asked else None
        told = difference(text, found.get(text), kind, answer_of(text))
        if bool(told) != (text in EXPRESSIONS):
            wrong.append(f"{text} {told or 'is as Flink has it: take it out of the list of known differences'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("start", STARTS)
def test_in_streaming(start: int) -> None:
    texts = TEXTS[start : start + SIZE]
    asked = {text: plan for text in texts if (plan := planned(text, corpus.STREAMING))}
    check(texts, asked, lambda one: [row for _, row in streamed(one)], True)


@pytest.mark.spark
@pytest.mark.draw(2)
@pytest.mark.parametrize("start", STARTS)
def test_in_batch(start: int, spark: SparkSession) -> None:
    texts = TEXTS[start : start + SIZE]
    asked = {text: plan for text in texts if (plan := planned(text, corpus.BATCH))}
    check(list(asked), asked, lambda one: batched(one, spark), False)


def values_of(asked: dict[str, Asked], run: Run) -> dict[str, list[Any] | Exception]:
    """The values of each expression, of as many as can be in one query, or why it fails."""
    failing = [text for text in asked if "fails" in answer_of(text)]
    found = _values([text for text in asked if text not in failing], asked, run)
    for text in failing:  # one by one, so that none is looked for among those that do not
        found |= _values([text], asked, run)
    return found


def _values(texts: list[str], asked: dict[str, Asked], run: Run) -> dict[str, list[Any] | Exception]:
    if not texts:
        return {}
    try:
        together = asked[texts[0]] if len(texts) == 1 else _together([asked[text] for text in texts])
        rows = run(together)
    except Exception as error:
        if len(texts) == 1:
            return {texts[0]: error}
        middle = len(texts) // 2
        return {**_values(texts[:middle], asked, run), **_values(texts[middle:], asked, run)}
    return {text: [row[at] for row in rows] for at, text in enumerate(texts)}


def _together(asked: list[Asked]) -> Asked:
    """One query with all expressions, without reading them once more.

    :raises ValueError: they are not all made of the same rows.
    """
    plans = [one.plan for one in asked if isinstance(one.plan, Project)]
    if len(plans) < len(asked) or any(plan.input != plans[0].input for plan in plans):
        raise ValueError("other rows")
    columns = [replace(plan.columns[0], name=f"c{at}") for at, plan in enumerate(plans)]
    expressions = tuple(plan.expressions[0] for plan in plans)
    return Asked(asked[0].environment, Project(plans[0].input, expressions, tuple(columns)))


def test_known_differences_are_in_the_corpus() -> None:
    assert {*EXPRESSIONS, *TYPES} <= set(TEXTS)
