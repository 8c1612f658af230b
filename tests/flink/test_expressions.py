"""Expressions give what Flink gives: type, values and failure, in both modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.flink import corpus
from tests.flink.asking import Asked, answers, ask, batched, same, streamed
from tests.flink.known import EXPRESSIONS, TYPES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = corpus.expressions()
SIZE = 40


def query(texts: list[str]) -> str:
    return "SELECT " + ", ".join(f"{text} AS c{at}" for at, text in enumerate(texts)) + " FROM t"


def answer_of(text: str) -> dict[str, Any]:
    found = answers("expressions").get(text)
    assert found is not None, f"Flink was never asked {text}: run `make flink RECORD=1`"
    return found


def planned(text: str) -> Asked | None:
    """None: it is refused."""
    try:
        return ask(corpus.BATCH, query([text]))
    except Exception:
        return None


def difference(text: str, values: list[Any] | None, kind: str | None, wanted: dict[str, Any]) -> str:
    """What is not as Flink has it; empty if nothing is.

    :param kind: the type; None: it is not looked at.
    """
    if values is None:
        return "" if "fails" in wanted else f"fails, Flink gives {wanted['values']}"
    if "fails" in wanted:
        return f"gives {values}, with Flink it fails ({wanted['fails']})"
    if kind is not None and text not in TYPES and kind != wanted["type"]:
        return f"has type {kind}, with Flink {wanted['type']}"
    if not same(values, wanted["values"], "FLOAT" in wanted["type"]):
        return f"gives {values}, Flink {wanted['values']}"
    return ""


def check(text: str, values: list[Any] | None, kind: str | None) -> None:
    told = difference(text, values, kind, answer_of(text))
    if text in EXPRESSIONS:
        assert told, f"{text} is as Flink's: take it out of the list of known differences"
    else:
        assert not told, f"{text} {told}"


@pytest.mark.parametrize("text", TEXTS)
def test_in_streaming(text: str) -> None:
    try:
        asked = ask(corpus.STREAMING, query([text]))
        values = [row[0] for _, row in streamed(asked)]
    except Exception:
        check(text, None, None)
    else:
        check(text, values, asked.types[0])


@pytest.mark.spark
@pytest.mark.parametrize("start", range(0, len(TEXTS), SIZE))
def test_in_batch(start: int, spark: SparkSession) -> None:
    texts = [text for text in TEXTS[start : start + SIZE] if planned(text)]
    wrong = []
    for text, values in values_of(texts, spark).items():
        told = difference(text, values, None, answer_of(text))
        if bool(told) != (text in EXPRESSIONS):
            wrong.append(f"{text} {told or 'is as Flink has it'}")
    assert not wrong, "\n".join(wrong)


def values_of(texts: list[str], spark: SparkSession) -> dict[str, list[Any] | None]:
    """The values of each expression, of as many as can be in one query; None where it fails."""
    failing = [text for text in texts if "fails" in answer_of(text)]
    together = [text for text in texts if text not in failing]
    found = _values(together, spark)
    for text in failing:  # one by one, so that none is looked for among those that do not
        found |= _values([text], spark)
    return found


def _values(texts: list[str], spark: SparkSession) -> dict[str, list[Any] | None]:
    if not texts:
        return {}
    try:
        rows = batched(ask(corpus.BATCH, query(texts)), spark)
    except Exception:
        if len(texts) == 1:
            return {texts[0]: None}
        middle = len(texts) // 2
        return {**_values(texts[:middle], spark), **_values(texts[middle:], spark)}
    return {text: [row[at] for row in rows] for at, text in enumerate(texts)}


def test_known_differences_are_in_the_corpus() -> None:
    assert {*EXPRESSIONS, *TYPES} <= set(TEXTS)
