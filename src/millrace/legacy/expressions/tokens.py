"""The words and signs of expressions as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millrace.table.values.problems import problem

__all__ = ["END", "Token", "tokens_of"]

_PATTERNS = (
    ("space", r"\s+"),
    ("text", r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\""),
    ("number", r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[lLfFdDpP]?(?!\w)"),
    ("name", r"[A-Za-z_$][\w$]*|`(?:[^`]|``)+`"),
    ("sign", r"===|!==|==|!=|<>|<=|>=|&&|\|\||[-+*/%<>=!.,()?:]"),
)
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS))
_SYMBOL = re.compile(r"'([A-Za-z_$][\w$]*)(?![\w$]*')")
"""``'x``, a column as programs of Scala write it"""


@dataclass(frozen=True)
class Token:
    """A word or sign, and where it begins."""

    kind: str
    text: str
    place: int


END = "end"


def tokens_of(text: str) -> list[Token]:
    """All tokens, the last of which is the end.

    :raises TableException: there is something else.
    """
    found: list[Token] = []
    place = 0
    while place < len(text):
        symbol = _SYMBOL.match(text, place)
        if symbol is not None and "'" not in text[symbol.end() :].partition(",")[0]:
            found.append(Token("name", symbol[1], place))
            place = symbol.end()
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            raise problem(f"{text!r} cannot be read at character {place + 1}: {text[place:place + 10]!r}")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], place))
        place = match.end()
    return [*found, Token(END, "", len(text))]
