"""What a sink's table demands of its rows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.tables.tabular import check, harness, schema

from millrace.relational.types import BigIntType, BinaryType, CharType, VarBinaryType, VarCharType, string
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.constraints import EnforceConstraints
from millrace.testing import Element

NOT_NULL = schema(BigIntType(False), string())
SIZED = schema(CharType(3), VarCharType(3), BinaryType(3), VarBinaryType(3))
ROWS: list[tuple[Any, ...]] = [
    ("ab", "ab", b"ab", b"ab"),
    ("äbcd", "äbcd", b"abcd", b"abcd"),
    (None, None, None, None),
]


def test_rows_with_null_are_dropped() -> None:
    script = [Element((kind, *row)) for kind, row in [("+I", (1, None)), ("+U", (None, "x")), ("-D", (3, "y"))]]
    found = check(EnforceConstraints(columns=NOT_NULL, not_null="DROP"), (NOT_NULL,), script)
    assert found == [("+I", 1, None), ("-D", 3, "y")]


def test_null_is_an_error() -> None:
    text = "column f0 is NOT NULL, but a row has NULL there"
    with harness(EnforceConstraints(columns=NOT_NULL), NOT_NULL) as run, pytest.raises(OperatorError, match=text):
        run.process_element(("+I", None, "x"))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("IGNORE", ROWS),
        (
            "TRIM_PAD",
            [("ab ", "ab", b"ab\0", b"ab"), ("äbc", "äbc", b"abc", b"abc"), (None, None, None, None)],
        ),
    ],
)
def test_lengths(mode: str, expected: list[Any]) -> None:
    script = [Element(("+I", *row)) for row in ROWS]
    found = check(EnforceConstraints(columns=SIZED, length=mode), (SIZED,), script)
    assert found == [("+I", *row) for row in expected]


def test_a_wrong_length_is_an_error() -> None:
    with harness(EnforceConstraints(columns=SIZED, length="ERROR"), SIZED) as run:
        run.process_element(("+I", "abc", "ab", b"abc", b""))
        with pytest.raises(OperatorError, match=r"column f1 is VARCHAR\(3\), but a row has 'abcd' there"):
            run.process_element(("+I", "abc", "abcd", b"abc", b""))


def test_modes() -> None:
    with pytest.raises(ValueError, match="ERROR or DROP, not KEEP"):
        EnforceConstraints(columns=SIZED, not_null="KEEP")
    with pytest.raises(ValueError, match="IGNORE, TRIM_PAD or ERROR, not CUT"):
        EnforceConstraints(columns=SIZED, length="CUT")


def test_whether_it_is_needed() -> None:
    assert EnforceConstraints(columns=NOT_NULL).needed
    assert not EnforceConstraints(columns=SIZED).needed
    assert EnforceConstraints(columns=SIZED, length="ERROR").needed
