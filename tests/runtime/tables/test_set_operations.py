"""Set operations against multisets."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.tabular import check_table, harness, schema, table_of

from millrace.relational.types import BigIntType, DoubleType, string
from millrace.runtime.tables.set_operations import SetOperation
from millrace.testing import Element

INPUT = schema(BigIntType(), string())
rows = st.tuples(st.none() | st.integers(0, 1), st.none() | st.just("a"))


@st.composite
def scripts(draw: Any, inputs: int) -> list[Element]:
    present: list[Counter[Any]] = [Counter() for _ in range(inputs)]
    script = []
    for _ in range(draw(st.integers(0, 14))):
        side = draw(st.integers(0, inputs - 1))
        there = sorted(present[side].elements(), key=repr)
        gone = there and draw(st.integers(0, 2)) == 0
        row = draw(st.sampled_from(there)) if gone else draw(rows)
        present[side][row] += -1 if gone else 1
        script.append(Element((draw(st.sampled_from(["-D", "-U"] if gone else ["+I", "+U"])), *row), None, side))
    return script


def expected(kind: str, all: bool, tables: list[Counter[Any]]) -> Counter[Any]:
    if not all:
        tables = [Counter(set(table)) for table in tables]
    if kind == "INTERSECT":
        return reduce(lambda one, other: one & other, tables)
    if kind == "EXCEPT":
        return reduce(lambda one, other: one - other, tables)
    return Counter(set().union(*tables))


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(
    data=st.data(), inputs=st.integers(2, 3), all=st.booleans(), kind=st.sampled_from(["UNION", "INTERSECT", "EXCEPT"])
)
def test_as_multisets(data: Any, inputs: int, all: bool, kind: str) -> None:
    all = all and kind != "UNION"
    script = data.draw(scripts(inputs))
    found = check_table(SetOperation(kind=kind, all=all, inputs=inputs), [INPUT] * inputs, script)
    tables = [table_of(step.value for step in script if step.input == side) for side in range(inputs)]
    assert found == expected(kind, all, tables)


def test_changes() -> None:
    with harness(SetOperation(kind="EXCEPT", all=True), INPUT, INPUT) as run:
        run.process_elements([(("+I", 1, "a"), None)] * 3)
        run.process_elements([(("+I", 1, "a"), None)] * 2, input=1)
        run.process_elements([(("-U", 1, "a"), None), (("+U", 1, "b"), None)], input=1)
        assert run.values == [("+I", 1, "a")] * 3 + [("-D", 1, "a")] * 2 + [("+I", 1, "a")]


def test_state_has_only_rows_that_are_there() -> None:
    with harness(SetOperation(kind="INTERSECT", all=False), INPUT, INPUT) as run:
        for kind in ("+I", "-D"):
            for side in (0, 1):
                run.process_element((kind, 1, "a"), input=side)
        assert run.values == [("+I", 1, "a"), ("-D", 1, "a")]
        assert run.keys("counts") == []


def test_nan_equals_nan() -> None:
    numbers = schema(DoubleType())
    with harness(SetOperation(kind="UNION", all=False), numbers, numbers) as run:
        for side in (0, 1):
            run.process_element(("+I", float("nan")), input=side)
        assert len(run.values) == 1
