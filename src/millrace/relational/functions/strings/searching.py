"""POSITION, LOCATE, INSTR, STARTSWITH, ENDSWITH, TRANSLATE: what is where in a text. Positions count from 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from millrace.relational import types as t
from millrace.relational.casting import is_bytes, is_text
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN_TYPE, INT_TYPE, STRING, TEXT, WHOLE, signature, takes
from millrace.relational.rex import Call, Rex


def _find(text: str, sought: str, start: int = 1) -> int:
    """Where a text occurs, from 1 on; 0 if it does not."""
    return text.find(sought, max(0, start - 1)) + 1 if sought else 1


@scalar(
    "POSITION",
    takes(TEXT, TEXT, WHOLE, optional=1, result=INT_TYPE),
    spark=lambda call, args: f"locate({args[0]}, {args[1]})" if len(args) == 2 else None,
    aliases=("LOCATE",),
    syntax="POSITION(sought IN string) or LOCATE(sought, string [, start])",
)
def _position(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    sought, text, *start = args
    return by_row(call, [text, sought, *start], _find)


@scalar(
    "INSTR",
    takes(TEXT, TEXT, WHOLE, WHOLE, optional=2, result=INT_TYPE),
    spark=lambda call, args: f"instr({args[0]}, {args[1]})" if len(args) == 2 else None,
    syntax="INSTR(string, sought [, start [, nth]])",
)
def _instr(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, instr)


def instr(text: str, sought: str, start: int = 1, nth: int = 1) -> int:
    """The position of the n-th occurrence, from the end for a negative start.

    :raises ValueError: ``nth`` is not positive.
    """
    if nth <= 0:
        raise ValueError(f"INSTR counts occurrences from 1, not {nth}")
    if start == 0:
        return 0
    if start < 0:
        found = instr(text[::-1], sought[::-1], -start, nth)
        return len(text) + 2 - found - len(sought) if found else 0
    return reduce(lambda place, _: _find(text, sought, place + 1) if place >= 0 else 0, range(nth), start - 1)


def _infer_ends(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    types = [STRING if isinstance(arg.type, t.NullType) else arg.type for arg in args]
    if len(args) != 2 or not (all(map(is_text, types)) or all(map(is_bytes, types))):
        raise SignatureError("it takes (STRING, STRING) or (BYTES, BYTES)")
    return signature([each.with_nullable(arg.type.is_nullable) for each, arg in zip(types, args)], BOOLEAN_TYPE)


@scalar("STARTSWITH", _infer_ends, spark="startswith({0}, {1})")
def _starts_with(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, start: text.startswith(start))


@scalar("ENDSWITH", _infer_ends, spark="endswith({0}, {1})")
def _ends_with(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, end: text.endswith(end))


def _infer_translate(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """NULL only for a text that is."""
    found = takes(TEXT, TEXT, TEXT, result=STRING)(args, options)
    return Signature(found.args, STRING.with_nullable(args[0].type.is_nullable))


@scalar("TRANSLATE", _infer_translate, aliases=("TRANSLATE3",))
def _translate(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, translate, nulls=True)


def translate(text: str | None, old: str | None, new: str | None) -> str | None:
    """Characters of ``old`` become those of ``new`` at the same place, without one they go. The first place counts.
    NULL is no characters."""
    if text is None or not old:
        return text
    new = new or ""
    table: dict[int, str] = {}
    for place, char in enumerate(old):
        table.setdefault(ord(char), new[place : place + 1])
    return text.translate(table)
