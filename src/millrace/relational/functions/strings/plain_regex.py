"""Regular expressions that Arrow's engine reads as Java does: they are matched a column at a time, not a row.

Arrow has RE2. It differs from Java in what ``.``, ``$``, ``\\s`` and ``\\b`` mean, in repeated groups and in much that
it lacks. What is left is most of what is written: characters, sets of them, alternatives, groups, and ``*``, ``+`` and
``?`` behind a character or a set. Anything else goes row by row through ``re`` (``java_regex``).
"""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.strings.java_regex import compiled
from millrace.util.record import Record

_PLAIN = r"[A-Za-z0-9 _=&/:;,@%#\"'<>!~`-]"
_ESCAPED = r"\\(?:[dDwW]|[!-/:-@\[-^`{-~])"
_IN_SET = r"[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _=/:;,@%#\"'<>!~`.*+?()|{}$]|&(?!&)|\\(?:[dw]|[!-/:-@\[-^`{-~])"
_TOKEN = re.compile(
    rf"(?P<atom>(?:{_PLAIN}|{_ESCAPED}|\[\^?(?:{_IN_SET})+\])(?:[*+?]\??)?)|(?P<open>\((?:\?:)?(?!\?))|(?P<other>[)|^])"
)


class PlainRegex(Record):
    """An expression as a row of tokens."""

    tokens: tuple[str, ...]
    certain: frozenset[int]
    """the groups that are part of each match; 0 is the match itself"""

    def naming(self, group: int) -> str:
        """The expression with one named group; the others only hold together."""
        parts, number = [], 0
        for token in self.tokens:
            if token == "(":
                number += 1
                token = "(?P<found>" if number == group else "(?:"
            parts.append(token)
        text = "".join(parts)
        return f"(?P<found>{text})" if group == 0 else text

    def matches(self, texts: pa.Array) -> pa.Array:
        """Whether each text has a match somewhere."""
        return pc.match_substring_regex(texts, self.naming(0))

    def extract(self, texts: pa.Array, group: int) -> pa.Array:
        """This group of the first match of each text, NULL without one. ``group`` must be a certain one."""
        return pc.struct_field(pc.extract_regex(texts, self.naming(group)), "found")


@lru_cache(maxsize=500)
def plain_regex(pattern: str) -> PlainRegex | None:
    """None for a pattern that has more in it, is empty or not well-formed."""
    tokens: list[str] = []
    place = 0
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        if token is None:
            return None
        tokens.append(token[0])
        place = token.end()
    if not tokens or compiled(pattern) is None:
        return None
    return PlainRegex(tuple(tokens), _certain(tokens))


def _certain(tokens: list[str]) -> frozenset[int]:
    """A group is, unless there are alternatives in anything that it is part of. No group is repeated or left out."""
    groups: list[tuple[int, ...]] = []
    """of each group those that it lies in, itself last; negative numbers are groups that only hold together"""
    inside: tuple[int, ...] = (0,)
    alternatives = set()
    for place, token in enumerate(tokens):
        if token == "(":
            inside = (*inside, len(groups) + 1)
            groups.append(inside)
        elif token == "(?:":
            inside = (*inside, -place - 1)
        elif token == ")":
            inside = inside[:-1]
        elif token == "|":
            alternatives.add(inside[-1])
    return frozenset({0, *(lies[-1] for lies in groups if not alternatives.intersection(lies[:-1]))})
