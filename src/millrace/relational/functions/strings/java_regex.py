"""Java's regular expressions in Python's ``re``.

Most of the syntax is the same. What is written differently is rewritten here, what Python lacks is refused by name.
Letters, digits and blanks of ``\\w``, ``\\d``, ``\\s``, ``\\b`` are those of ASCII, as in Java.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache

_PROPERTIES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Alnum": "A-Za-z0-9",
    "XDigit": "0-9A-Fa-f",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": r"\x00-\x1f\x7f",
    "Space": r" \t\n\x0b\f\r",
    "ASCII": r"\x00-\x7f",
    "IsAlphabetic": r"^\W\d_",
    "L": r"^\W\d_",
    "IsDigit": r"\d",
    "Nd": r"\d",
}
_WITH_UNICODE = frozenset(("IsAlphabetic", "L", "IsDigit", "Nd"))
_ENDS = {"z": r"\Z", "Z": r"(?=\n?\Z)", "h": r"[ \t\xa0]", "R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])", "e": r"\x1b"}
_SINCE_3_11 = ("multiple repeat", "unknown extension ?>")
"""what older Pythons say to a++ and (?>a)"""
_GROUP_NAME = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_BACK_REFERENCE = re.compile(r"k<([A-Za-z][A-Za-z0-9]*)>")
_PROPERTY = re.compile(r"([pP])(?:\{([^}]*)\}|([A-Z]))")
_FLAGS = re.compile(r"\(\?([idmsux]+)\)")
_BEGIN_OF_CLASS = re.compile(r"\[\^?\]?")


class UnsupportedRegex(ValueError):
    """A regular expression that Java has and Millrace has not."""


def _refuse(pattern: str, what: str, instead: str) -> UnsupportedRegex:
    return UnsupportedRegex(
        f"the regular expression {pattern!r} has {what}, which Millrace does not support: {instead}"
    )


@lru_cache(maxsize=500)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The expression for ``re``; None for a pattern that is not well-formed.

    :raises UnsupportedRegex: Python has nothing like a part of it.
    """
    try:
        return re.compile(_rewritten(pattern), re.ASCII)
    except re.error as error:
        if sys.version_info < (3, 11) and error.msg.startswith(_SINCE_3_11):
            raise _refuse(pattern, "a possessive quantifier or an atomic group", "Python 3.11 has them") from None
        return None


def _rewritten(pattern: str) -> str:
    parts: list[str] = []
    closings = [""]
    """what is written before the end of each open group: flags in the middle end with their group"""
    place = 0
    while place < len(pattern):
        char = pattern[place]
        if char == "\\":
            text, place = _escape(pattern, place, inside=False)
            parts.append(text)
            continue
        if char == "[":
            text, place = _class(pattern, place)
            parts.append(text)
            continue
        flags = _FLAGS.match(pattern, place)
        if flags:
            chosen = "".join(flag for flag in flags[1] if flag in "imsx")
            if chosen:
                parts.append(f"(?{chosen}:")
                closings[-1] += ")"
            place = flags.end()
            continue
        name = _GROUP_NAME.match(pattern, place)
        if char == "(":
            closings.append("")
        if char == ")" and len(closings) > 1:
            parts.append(closings.pop())
        parts.append(f"(?P<{name[1]}>" if name else char)
        place = name.end() if name else place + 1
    parts.extend(reversed(closings))
    return "".join(parts)


def _escape(pattern: str, place: int, inside: bool) -> tuple[str, int]:
    """A backslash and what belongs to it; and where the pattern goes on."""
    letter = pattern[place + 1 : place + 2]
    if letter == "Q":
        end = pattern.find("\\E", place)
        quoted = pattern[place + 2 : end] if end >= 0 else pattern[place + 2 :]
        return re.escape(quoted), end + 2 if end >= 0 else len(pattern)
    reference = _BACK_REFERENCE.match(pattern, place + 1)
    if reference:
        return f"(?P={reference[1]})", reference.end()
    found = _PROPERTY.match(pattern, place + 1)
    if found:
        return _property(pattern, found, inside), found.end()
    if letter in ("G", "X", "V", "H", "v"):
        raise _refuse(pattern, f"\\{letter}", "use a character class")
    if letter in _ENDS and not inside:
        return _ENDS[letter], place + 2
    return pattern[place : place + 2], place + 2


def _property(pattern: str, found: re.Match[str], inside: bool) -> str:
    r"""``\p{Alpha}`` and its like."""
    name = found[2] or found[3]
    negated = found[1] == "P"
    characters = _PROPERTIES.get(name)
    if characters is None or (inside and (negated or characters.startswith("^"))):
        raise _refuse(pattern, f"\\{found[1]}{{{name}}}", "use ranges of characters")
    if inside:
        return characters
    body = f"[{characters}]"
    if negated:
        body = f"[{characters[1:]}]" if characters.startswith("^") else f"[^{characters}]"
    return f"(?u:{body})" if name in _WITH_UNICODE else body


def _class(pattern: str, start: int) -> tuple[str, int]:
    """``[...]``; and where the pattern goes on."""
    begin = _BEGIN_OF_CLASS.match(pattern, start)
    assert begin is not None
    parts, place = [begin[0].replace("]", "\\]")], begin.end()
    while place < len(pattern) and pattern[place] != "]":
        char = pattern[place]
        if char == "[" or pattern.startswith("&&", place):
            raise _refuse(pattern, "a set within a set", "write the characters in one set")
        if char == "\\":
            text, place = _escape(pattern, place, inside=True)
            parts.append(text)
        else:
            parts.append("\\" + char if char in "~|&" else char)
            place += 1
    return "".join(parts) + pattern[place : place + 1], place + 1
