"""Sets of status codes as options write them: ``2XX,404,!203``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PART = re.compile(r"(?P<without>!?)\s*(?:(?P<group>[1-5])XX|(?P<code>[1-5]\d\d))")


@dataclass(frozen=True)
class Codes:
    """
    :ivar groups: first digits whose codes are all in it.
    """

    groups: frozenset[int] = frozenset()
    codes: frozenset[int] = frozenset()
    without: frozenset[int] = frozenset()

    @staticmethod
    def of(text: str) -> Codes:
        """:raises ValueError: it is no such set."""
        groups, codes, without = set[int](), set[int](), set[int]()
        for part in filter(None, (each.strip() for each in text.split(","))):
            found = _PART.fullmatch(part.upper())
            if found is None or (found["without"] and found["group"]):
                raise ValueError(f"status codes are written as 2XX, 404 and !203, with commas, not '{part}'")
            if found["group"]:
                groups.add(int(found["group"]))
            else:
                (without if found["without"] else codes).add(int(found["code"]))
        return Codes(frozenset(groups), frozenset(codes), frozenset(without))

    def __contains__(self, code: int) -> bool:
        return (code in self.codes or code // 100 in self.groups) and code not in self.without
