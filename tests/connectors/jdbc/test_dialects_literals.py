"""A column as one array literal, read again by a reader of PostgreSQL's rules that knows nothing of Arrow."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.jdbc.driver_values import array_literal


def read(literal: str) -> list[str | None]:
    """The elements of an array literal: quoted ones with escapes, or the word NULL."""
    assert literal[0] == "{" and literal[-1] == "}"
    found: list[str | None] = []
    place, end = 1, len(literal) - 1
    while place < end:
        if literal[place] == '"':
            place += 1
            element = ""
            while literal[place] != '"':
                place += literal[place] == "\\"
                element += literal[place]
                place += 1
            found.append(element)
            place += 1
        else:
            assert literal[place : place + 4] == "NULL"
            found.append(None)
            place += 4
        assert place == end or literal[place] == ","
        place += 1
    return found


TEXTS = st.lists(st.one_of(st.none(), st.text('ab,"\\{} é', max_size=6), st.just("NULL")), max_size=6)


@given(TEXTS, st.booleans())
def test_an_array_is_read_as_it_was(texts: list[str | None], with_nulls: bool) -> None:
    elements = texts if with_nulls else [each for each in texts if each is not None]
    # A slice: what is before and behind it in memory is none of it.
    column = pa.array(["\\", *elements, '"'], pa.string()).slice(1, len(elements))
    assert read(array_literal(column)) == elements
