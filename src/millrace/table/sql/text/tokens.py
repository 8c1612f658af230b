"""Text to tokens. Comments are dropped; hints (``/*+ .. */``) are not comments."""

from __future__ import annotations

import enum
import re

from millrace.table.sql.text.errors import Position, SqlParseError
from millrace.table.sql.text.source import Source
from millrace.util.record import Record


class Kind(enum.Enum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    HEX = "binary string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of the text"


class Token(Record):
    """``text`` is the value (quotes and escapes gone), ``word`` an unquoted word or a symbol in upper case, else ''."""

    kind: Kind
    text: str
    start: int
    end: int
    word: str = ""


_PATTERN = re.compile(
    r"""
    (?P<skip>     \s+ | --[^\n]* | //[^\n]* | /\*(?!\+).*?\*/ )
  | (?P<unicode>  [uU]& '(?P<coded>(?:[^']|'')*)' (?: \s* UESCAPE \s* '(?P<escape>[^'])' )? )
  | (?P<string>   (?P<prefix> [xXnN] | _[A-Za-z0-9\-]+ )? '(?P<value>(?:[^']|'')*)' )
  | (?P<quoted>   `(?P<name>(?:[^`]|``)+)` )
  | (?P<number>   (?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)? )
  | (?P<word>     (?:[^\W\d]|\$)[\w$]* )
  | (?P<symbol>   /\*\+ | <> | != | <= | >= | \|\| | => | \{- | -\} | /(?!\*) | [-+*%(),.;:=<>\[\]{}?|^&@#!~\\] )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)

_BROKEN = {
    "'": "this text has no closing quote",
    "`": "this name has no closing backtick",
    "/": "this comment has no end",
    '"': "double quotes are not used: write text in 'single quotes' and names in `backticks`",
}


def tokenize(source: Source) -> list[Token]:
    """All tokens, and an END after them.

    :raises SqlParseError: a text, name or comment without an end, or a character that begins nothing.
    """
    tokens: list[Token] = []
    text, at, in_hint = source.text, 0, False
    while at < len(text):
        if in_hint and text.startswith("*/", at):
            tokens.append(Token(Kind.SYMBOL, "*/", at, at + 2, "*/"))
            at, in_hint = at + 2, False
            continue
        match = _PATTERN.match(text, at)
        if match is None:
            message = _BROKEN.get(text[at], f"the character {text[at]!r} is not part of SQL")
            raise SqlParseError(message, Position(source, at, at + 1))
        if match.lastgroup != "skip":
            tokens.append(_token(match, source))
            in_hint = in_hint or tokens[-1].text == "/*+"
        at = match.end()
    # What is missing at the end is missing after the last word, not after comments and empty lines.
    end = tokens[-1].end if tokens else len(text)
    return [*tokens, Token(Kind.END, "", end, end)]


def _token(match: re.Match[str], source: Source) -> Token:
    start, end, text = match.start(), match.end(), match.group()
    if match["word"]:
        return Token(Kind.WORD, text, start, end, text.upper())
    if match["symbol"]:
        return Token(Kind.SYMBOL, text, start, end, text)
    if match["quoted"]:
        return Token(Kind.QUOTED, match["name"].replace("``", "`"), start, end)
    if match["number"]:
        return Token(Kind.NUMBER, text, start, end)
    if match["unicode"]:
        return Token(Kind.STRING, _decoded(match["coded"].replace("''", "'"), match["escape"] or "\\"), start, end)
    return _string(match, source)


def _decoded(text: str, escape: str) -> str:
    """A text in which ``\\263A`` and ``\\+01F600`` are characters, and ``\\\\`` is the escape itself."""
    mark = re.escape(escape)
    code = re.compile(rf"{mark}({mark}|[0-9a-fA-F]{{4}}|\+0[0-9a-fA-F]{{5}}|\+10[0-9a-fA-F]{{4}})")
    decoded = code.sub(lambda found: escape if found[1] == escape else chr(int(found[1].lstrip("+"), 16)), text)
    # Two escapes of UTF-16 may be one character.
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _string(match: re.Match[str], source: Source) -> Token:
    prefix, value = (match["prefix"] or "").upper(), match["value"].replace("''", "'")
    if prefix == "X":
        if len(value) % 2 or not re.fullmatch("[0-9a-fA-F]*", value):
            message = "a binary string has two digits of 0-9 and A-F for every byte"
            raise SqlParseError(message, Position(source, match.start(), match.end()))
        return Token(Kind.HEX, value.upper(), match.start(), match.end())
    return Token(Kind.STRING, value, match.start(), match.end())
