"""``changelog-json`` for tables: one side of a change in each message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import decode, decoded, encode, schema

from millrace.relational import types as t

COLUMNS = schema(id=t.IntType(), name=t.string())


def message(op: str | None, **data: object) -> str:
    return json.dumps({"data": data, "op": op})


def test_every_kind() -> None:
    messages = [message("+I", id=1, name="a"), None, message("-U", id=1, name="a"), message("+U", id=1, name=None)]
    messages.append(message("-D", id=1))
    found = decoded("changelog-json", COLUMNS, messages)
    assert (found.messages.tolist(), found.skipped) == ([0, 2, 3, 4], 0)
    assert decode("changelog-json", COLUMNS, messages) == [
        ("+I", (1, "a")), ("-U", (1, "a")), ("+U", (1, None)), ("-D", (1, None))
    ]  # fmt: skip


def test_what_means_nothing() -> None:
    bad = [message("+X", id=1), message(None, id=1), '{"data": null, "op": "+I"}', "{"]
    for each in bad:
        with pytest.raises(ValueError, match="message 0"):
            decode("changelog-json", COLUMNS, [each])
    lenient = {"ignore-parse-errors": "true"}
    found = decoded("changelog-json", COLUMNS, [*bad, message("-D", id=2)], lenient)
    assert (len(found.rows), found.skipped, found.messages.tolist()) == (1, 4, [4])


_ROWS = st.tuples(st.sampled_from(["+I", "-U", "+U", "-D"]), st.tuples(st.integers(-9, 9) | st.none(), st.text()))


@given(st.lists(_ROWS))
def test_what_is_written_is_read(rows: list[tuple[str, tuple[int | None, str]]]) -> None:
    messages = encode("changelog-json", COLUMNS, [row for _, row in rows], kinds=[kind for kind, _ in rows])
    assert all(set(json.loads(each or b"{}")) == {"data", "op"} for each in messages)
    assert decode("changelog-json", COLUMNS, messages) == rows
