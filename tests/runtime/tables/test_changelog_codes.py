"""Kinds of rows as codes in a column, and back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.tables.tabular import check, harness, schema

from millrace.relational.types import BigIntType, string
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.changelog_codes import CodesToKinds, KindsToCodes
from millrace.testing import Element, EndInput

PLAIN = schema(BigIntType(), string())
CODED = schema(string(), BigIntType(), string())
CHANGES: list[tuple[Any, ...]] = [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, None), ("-D", 1, None), ("+I", 2, "b")]


def test_kinds_become_codes() -> None:
    config = KindsToCodes(codes=(("INSERT", "c"), ("UPDATE_AFTER", "c"), ("DELETE", "d")))
    found = check(config, (PLAIN,), [*map(Element, CHANGES), EndInput()])
    assert found == [("+I", "c", 1, "a"), ("+I", "c", 1, None), ("+I", "d", 1, None), ("+I", "c", 2, "b")]


def test_codes_become_kinds() -> None:
    codes = (("c", "INSERT"), ("r", "INSERT"), ("b", "UPDATE_BEFORE"), ("u", "UPDATE_AFTER"), ("d", "DELETE"))
    script = [Element(("+I", code, *row)) for code, (_, *row) in zip("cbudr", CHANGES)]
    assert check(CodesToKinds(op=0, codes=codes), (CODED,), [*script, EndInput()]) == CHANGES


@pytest.mark.parametrize("code", ["x", None])
def test_other_codes(code: str | None) -> None:
    codes = (("c", "INSERT"),)
    text = f"operation code {code!r}, and those that are known are c"
    with harness(CodesToKinds(op=0, codes=codes), CODED) as strict, pytest.raises(OperatorError, match=text):
        strict.process_element(("+I", code, 1, "a"))
    with harness(CodesToKinds(op=0, codes=codes, skip=True), CODED) as lax:
        lax.process_elements([(("+I", each, 1, "a"), None) for each in (code, "c")])
        assert lax.values == [("+I", 1, "a")]
        assert lax.counter("numInvalidOpRecordsDropped") == 1
