"""The values of secret options in SQL, also in SQL that cannot be read.

A statement is shown where it is wrong, so this reads what no grammar takes: names without quotes or in other quotes,
comments between name and value, ``:`` for ``=`` or no sign at all, several texts for one value, texts without an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Span = tuple[int, int]

_TOKEN = re.compile(
    r"""
    (?P<skip>    \s+ )
  | (?P<comment> (?:--|//)[^\n]* | /\*(?!\+).*?(?:\*/|\Z) )
  | (?P<hint>    /\*\+ )
  | (?P<end>     \*/ )
  | (?P<text>    '(?:[^']|'')*(?:'|\Z) )
  | (?P<quoted>  `[^`]*(?:`|\Z) | "[^"]*(?:"|\Z) )
  | (?P<word>    [\w$](?:[\w$.\-]*[\w$])? )
  | (?P<sign>    (?:=>|[=:])+ )
  | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME_AT_END = re.compile(r"([\w.\-]+)\s*[=:]$")
_SIGN_IN_QUOTES = re.compile(r"'\s*[=:]+\s*'?")
_LONGEST_NAME = 200
"""characters in which a name is looked for"""
_STOPS = (",", ")", ";", "*/")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    in_options: bool

    @property
    def inner(self) -> Span:
        """Its place without its quotes."""
        quotes = self.text[0] if self.kind in ("text", "quoted") else ""
        begin = self.start + len(quotes)
        closed = bool(quotes) and len(self.text) > 1 and self.text.endswith(quotes)
        return begin, self.start + len(self.text) - closed


def secret_settings(sql: str, is_secret: Callable[[str], bool], at: int = 0) -> Iterator[Span]:
    """Where values of secret options stand: in WITH, SET, hints, and in what may have been meant as such.

    :param at: the place of the text, for the spans.
    """
    tokens = []
    for token in _tokens(sql):
        if token.kind == "comment":
            yield from secret_settings(token.text[2:], is_secret, at + token.start + 2)
        else:
            tokens.append(token)
    index = 0
    while index < len(tokens):
        first = _value_of(tokens, index, is_secret)
        index += 1
        if first is None:
            continue
        index = first
        while index < len(tokens) and _goes_on(tokens, first, index):
            index += 1
        if index > first:
            yield at + tokens[first].inner[0], at + tokens[index - 1].inner[1]


def quoted_texts(sql: str) -> Iterator[tuple[int, str]]:
    """All that stands in quotes or in comments, each with its place."""
    for token in _tokens(sql):
        if token.kind in ("text", "quoted", "comment"):
            yield token.start, token.text


def _tokens(sql: str) -> Iterator[_Token]:
    """Comments, and everything else but white space. ``in_options``: only options can stand there, no expressions."""
    declares = in_hint = False
    begins = True
    for found in _TOKEN.finditer(sql):
        kind, text = str(found.lastgroup), found[0]
        if kind in ("skip", "comment"):
            if kind == "comment":
                yield _Token(kind, text, found.start(), in_options=False)
            continue
        word = text.upper()
        if begins:
            declares = word in ("CREATE", "ALTER", "SET")
        elif kind == "word" and word in ("SELECT", "VALUES"):
            declares = False
        in_hint = kind == "hint" or (in_hint and kind != "end")
        begins = text == ";"
        yield _Token(kind, text, found.start(), declares or in_hint)


def _value_of(tokens: list[_Token], index: int, is_secret: Callable[[str], bool]) -> int | None:
    """The token that begins the value, if a secret option's name stands here."""
    token = tokens[index]
    before = _NAME_AT_END.search(token.text.rstrip("' \n\t")[-_LONGEST_NAME:]) if token.kind == "text" else None
    if before is not None:
        return index + 1 if is_secret(before[1]) and token.in_options else None
    if token.kind not in ("text", "quoted", "word") or not is_secret(token.text):
        return None
    if token.kind != "text" and not token.in_options:
        return None  # a column that something is compared with
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following is None:
        return None
    if following.kind == "sign" or _SIGN_IN_QUOTES.fullmatch(following.text):
        return index + 2
    return index + 1 if following.kind == "text" else None


def _goes_on(tokens: list[_Token], first: int, index: int) -> bool:
    """Whether a token belongs to the value that begins at ``first``."""
    token = tokens[index]
    if token.in_options:
        return token.text not in _STOPS
    return token.kind == "text" and (index == first or tokens[index - 1].kind == "text")
