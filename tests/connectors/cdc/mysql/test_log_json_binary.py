"""JSON as MySQL stores it: written here after the description of the form, read by Millrace."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.cdc.mysql.binlog_values import json_text

VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="utf-8"), max_size=200),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=9), inner, max_size=4),
    ),
    max_leaves=12,
)  # fmt: skip


def length(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def scalar(value: Any) -> tuple[int, bytes]:
    """Type and bytes."""
    if value is None or isinstance(value, bool):
        return 4, bytes([0 if value is None else 1 if value else 2])
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, str):
        data = value.encode()
        return 12, length(len(data)) + data
    for kind, form, low, high in (
        (5, "<h", -(2**15), 2**15 - 1),
        (6, "<H", 0, 2**16 - 1),
        (7, "<i", -(2**31), 2**31 - 1),
        (8, "<I", 0, 2**32 - 1),
        (9, "<q", -(2**63), 2**63 - 1),
    ):
        if low <= value <= high:
            return kind, struct.pack(form, value)
    return 10, struct.pack("<Q", value)


def written(value: Any, large: bool) -> tuple[int, bytes]:
    """:param large: whether offsets have four bytes."""
    if not isinstance(value, (dict, list)):
        return scalar(value)
    width = 4 if large else 2
    names = [name.encode() for name in value] if isinstance(value, dict) else []
    values = list(value.values()) if isinstance(value, dict) else value
    head = 2 * width + len(names) * (width + 2) + len(values) * (1 + width)
    entries, behind = b"", b""
    for name in names:
        entries += (head + len(behind)).to_bytes(width, "little") + len(name).to_bytes(2, "little")
        behind += name
    for each in values:
        kind, data = written(each, large)
        if kind in (4, 5, 6) or (large and kind in (7, 8)):
            entries += bytes([kind]) + data.ljust(width, b"\0")
        else:
            entries += bytes([kind]) + (head + len(behind)).to_bytes(width, "little")
            behind += data
    body = entries + behind
    number = len(values).to_bytes(width, "little") + (2 * width + len(body)).to_bytes(width, "little")
    kind = (0 if isinstance(value, dict) else 2) + large
    return kind, number + body


@given(VALUES, st.booleans())
def test_values_come_back(value: Any, large: bool) -> None:
    kind, data = written(value, large)
    assert json.loads(json_text(bytes([kind]) + data)) == value


def test_the_text_is_as_servers_write_it() -> None:
    kind, data = written({"a": [1, None, True], "b": {"ü": "x\n"}, "c": 1e20}, False)
    assert json_text(bytes([kind]) + data) == '{"a": [1, null, true], "b": {"ü": "x\\n"}, "c": 1e20}'


def opaque(kind: int, data: bytes) -> bytes:
    return bytes([15, kind]) + length(len(data)) + data


def packed(year: int, month: int, day: int, clock: tuple[int, int, int], micro: int) -> bytes:
    seconds = clock[0] << 12 | clock[1] << 6 | clock[2]
    whole = ((year * 13 + month) << 5 | day) << 17 | seconds
    return struct.pack("<q", whole << 24 | micro)


def test_values_of_sql_within() -> None:
    assert json_text(opaque(12, packed(2024, 2, 29, (23, 59, 58), 123456))) == '"2024-02-29 23:59:58.123456"'
    assert json_text(opaque(10, packed(2024, 2, 29, (0, 0, 0), 0))) == '"2024-02-29"'
    assert json_text(opaque(11, struct.pack("<q", -((12 << 12 | 34 << 6 | 56) << 24)))) == '"-12:34:56.000000"'
    # 12345.67 as decimal(7,2): five digits in three bytes, two in one
    assert json_text(opaque(246, bytes([7, 2]) + bytes([0x80, 0x30, 0x39, 67]))) == "12345.67"
    assert json_text(opaque(252, b"\x00\xff")) == '"base64:type252:AP8="'


def test_nothing_and_what_is_damaged() -> None:
    assert json_text(b"") == "null"
    with pytest.raises(ValueError, match="damaged"):
        json_text(bytes([2, 9, 0, 0, 0]))
    with pytest.raises(ValueError, match="not known"):
        json_text(bytes([14, 0]))
