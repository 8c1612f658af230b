"""BIN, HEX, UNHEX: numbers and bytes written in base 2 and 16."""

from __future__ import annotations

import binascii
from collections.abc import Sequence

from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import BIGINT, BYTES_TYPE, STRING, TEXT, takes
from millrace.relational.rex import Call

_BITS = (1 << 64) - 1
"""negative numbers are written as their 64 bits"""


@scalar("BIN", takes(BIGINT, result=STRING), spark="bin({0})")
def _bin(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value: format(value & _BITS, "b"))


@scalar("HEX", takes(BIGINT, result=STRING), spark="hex({0})", syntax="HEX(integer) or HEX(string)")
def _hex(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value: format(value & _BITS, "X"))


@scalar("HEX TEXT", takes(TEXT, result=STRING), spark="hex({0})", overload_of="HEX")
def _hex_text(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value: value.encode().hex().upper())


@scalar("UNHEX", takes(TEXT, result=BYTES_TYPE, nullable=True))
def _unhex(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, unhex)


def unhex(text: str) -> bytes | None:
    """The bytes that hexadecimal digits write; None for other characters. Of an odd number of digits the first one is
    given up for a zero byte, as Flink does."""
    if len(text) % 2:
        if text[0] not in "0123456789abcdefABCDEF":
            return None
        return _bytes("00" + text[1:])
    return _bytes(text)


def _bytes(text: str) -> bytes | None:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        return None
