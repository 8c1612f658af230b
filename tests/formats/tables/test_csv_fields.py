"""Splitting CSV all at once gives what splitting message by message gives, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.formats.csv_schema import CsvDialect
from millrace.formats.tables.csv_format import CsvFields

WIDTH = 3
DIALECTS = [CsvDialect(), CsvDialect(quote_char=None), CsvDialect(column_separator="|", escape_char="\\")]
TEXT = st.text(st.sampled_from('ab,,|""\\\n\r #\t'), max_size=12)
RECORD = st.lists(TEXT | st.sampled_from(["1", '"x,y"', '"a""b"', ""]), min_size=WIDTH, max_size=WIDTH)


def columns_of(dialect: CsvDialect, messages: list[str]) -> tuple[Any, Any]:
    fields = CsvFields("shop", WIDTH, dialect, lenient=False)
    encoded = pa.array([message.encode() for message in messages], pa.binary())
    try:
        found = fields._one_by_one(encoded.to_pylist(), np.arange(len(messages)))
        one_by_one = [column.to_pylist() for column in found.columns]
    except ValueError:
        one_by_one = None
    at_once = fields._at_once(encoded)
    return at_once and [column.to_pylist() for column in at_once], one_by_one


@given(
    st.sampled_from(DIALECTS), st.lists(TEXT | st.sampled_from(["a,b,c", "a|b|c"]) | RECORD.map(",".join), max_size=3)
)
def test_what_is_split_all_at_once_is_right(dialect: CsvDialect, messages: list[str]) -> None:
    at_once, one_by_one = columns_of(dialect, messages)
    if at_once is not None:
        assert at_once == one_by_one


@pytest.mark.parametrize("message", ["a,b,c", ",,", '"x,y","q""q","two\nlines"', 'in"side,b,c', "a,b,c\r\n"])
def test_what_is_usual_is_split_all_at_once(message: str) -> None:
    at_once, one_by_one = columns_of(CsvDialect(), [message, "1,2,3", message])
    assert at_once is not None
    assert at_once == one_by_one
