"""A statement that is being typed: its words before the cursor, and the tables that it names on either side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.table.sql.grammar.keywords import RESERVED
from millrace.table.sql.text.errors import SqlParseError
from millrace.table.sql.text.source import Source
from millrace.table.sql.text.tokens import Kind, Token, tokenize

Path = tuple[str, ...]

_BEGUN = re.compile(r"[\w$]*$")
_BEFORE_SOURCES = frozenset({"FROM", "JOIN", "INTO", "OVERWRITE"})
_NO_ALIAS = RESERVED | {"WHERE", "WINDOW", "LIMIT", "QUALIFY", "PARTITION"}


@dataclass(frozen=True)
class Typed:
    """The place of the cursor in a statement."""

    tokens: tuple[Token, ...]
    """what stands before the word that is being typed"""
    begun: str
    """what there is of that word"""
    quote: str
    """the quote that it stands in: ' or `, or none"""
    qualifier: Path
    """the names with dots in front of it"""
    sources: dict[str, Path]
    """the tables that the statement reads or writes, by their alias or name"""

    @property
    def words(self) -> list[str]:
        return [token.word for token in self.tokens]


def typed(before: str, after: str = "") -> Typed:
    """The statement round the cursor."""
    tokens, opened = _tokens(before)
    if opened is not None:
        quote, begun = before[opened], before[opened + 1 :]
    else:
        quote, begun = "", _BEGUN.search(before).group()  # type: ignore[union-attr]
        if begun and tokens and tokens[-1].end == len(before):
            tokens.pop()
    statement = _after_semicolon(tokens)
    qualifier = _qualifier(statement)
    rest = _up_to_semicolon(_tokens(after)[0])
    return Typed(tuple(statement), begun, quote, qualifier, _sources([*statement, *rest]))


def _tokens(text: str) -> tuple[list[Token], int | None]:
    """The tokens of a text that may end within a quoted one, and where that begins."""
    try:
        return tokenize(Source(text))[:-1], None
    except SqlParseError as error:
        start = error.position.start if error.position is not None else len(text)
        return tokenize(Source(text[:start]))[:-1], start if text[start : start + 1] in ("'", "`") else None


def _after_semicolon(tokens: Sequence[Token]) -> list[Token]:
    ends = [place for place, token in enumerate(tokens) if token.word == ";"]
    return list(tokens[ends[-1] + 1 if ends else 0 :])


def _up_to_semicolon(tokens: Sequence[Token]) -> list[Token]:
    ends = [place for place, token in enumerate(tokens) if token.word == ";"]
    return list(tokens[: ends[0]] if ends else tokens)


def _is_name(token: Token) -> bool:
    return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.word not in RESERVED)


def _qualifier(tokens: list[Token]) -> Path:
    """The names before a dot at the end; they are taken off the tokens."""
    names: list[str] = []
    while len(tokens) > 1 and tokens[-1].word == "." and _is_name(tokens[-2]):
        names.insert(0, tokens[-2].text)
        del tokens[-2:]
    return tuple(names)


def _sources(tokens: Sequence[Token]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    place = 0
    while place < len(tokens):
        if tokens[place].word in _BEFORE_SOURCES:
            place = _source(tokens, place + 1, found)
            while place < len(tokens) and tokens[place].word == ",":
                place = _source(tokens, place + 1, found)
        else:
            place += 1
    return found


def _source(tokens: Sequence[Token], place: int, found: dict[str, Path]) -> int:
    """Read a path and its alias; the place behind them."""
    path: list[str] = []
    while place < len(tokens) and _is_name(tokens[place]):
        path.append(tokens[place].text)
        place += 1
        if place == len(tokens) or tokens[place].word != ".":
            break
        place += 1
    if not path:
        return place
    if place < len(tokens) and tokens[place].word == "AS":
        place += 1
    if place < len(tokens) and _is_name(tokens[place]) and tokens[place].word not in _NO_ALIAS:
        found[tokens[place].text] = tuple(path)
        return place + 1
    found[path[-1]] = tuple(path)
    return place
