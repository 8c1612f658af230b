"""What two runs gave otherwise, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

SHOWN = 10
"""Lines of a sink that are shown on either side."""


def differences(wanted: Mapping[str, Sequence[str]], found: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines that say which sinks differ and in what; empty if none does."""
    lines: list[str] = []
    for name in dict.fromkeys((*wanted, *found)):
        if name not in found:
            lines.append(f"{name}: recorded, but the program has no such sink now")
        elif name not in wanted:
            lines.append(f"{name}: the recording has no such sink")
        elif Counter(wanted[name]) != Counter(found[name]):
            lines += _of_sink(name, Counter(wanted[name]), Counter(found[name]))
    return lines


def _of_sink(name: str, wanted: Counter[str], found: Counter[str]) -> list[str]:
    missing, added = wanted - found, found - wanted
    sizes = f"{wanted.total()} recorded, {found.total()} now"
    return [f"{name}: {sizes}", *_signed("-", missing), *_signed("+", added)]


def _signed(sign: str, lines: Counter[str]) -> list[str]:
    shown = sorted(lines.elements())
    more = [f"  {sign} and {len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
    return [*(f"  {sign} {line}" for line in shown[:SHOWN]), *more]
