"""Finds options that hold secrets, and masks secrets in texts.

An option holds a secret if its name says so, in any case: it has one of the words that Flink hides (``password``,
``secret``, ``token`` and others), or names a key that opens something (``access-key``, not ``key.format`` or
``primary-key``). Credentials inside a value, as in ``jdbc:postgresql://host/db?password=...`` or
``https://user:word@host``, are hidden, too, whatever the option's name.

A statement is shown where it is wrong, so the search in SQL reads what no grammar takes: names without quotes or in
other quotes, comments between name and value, ``:`` for ``=`` or no sign at all, several texts for one value, texts
without an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

# Secrets in SQL

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
"""largest distance in which a name is looked for (characters)"""
_STOPS = (",", ")", ";", "*/")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    in_options: bool

    @property
    def inner(self) -> Span:
        """The token's span without its quotes."""
        quotes = self.text[0] if self.kind in ("text", "quoted") else ""
        begin = self.start + len(quotes)
        closed = bool(quotes) and len(self.text) > 1 and self.text.endswith(quotes)
        return begin, self.start + len(self.text) - closed


def secret_settings(sql: str, is_secret: Callable[[str], bool], at: int = 0) -> Iterator[Span]:
    """The spans of values of secret options: in WITH, SET and hints, and in texts that were probably meant as such.

    :param at: offset of the text, which is added to the spans.
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
    """All quoted texts and comments, each with its span."""
    for token in _tokens(sql):
        if token.kind in ("text", "quoted", "comment"):
            yield token.start, token.text


def _tokens(sql: str) -> Iterator[_Token]:
    """Tokens: comments, and everything else except white space. ``in_options``: only options can occur, no
    expressions."""
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
    """The first token of the value, if the name of a secret option is at this place."""
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


# Options, values and texts

HIDDEN = "******"
"""replacement of a secret, as in Flink"""

_ANYWHERE = re.compile(
    # Flink's, and a few like them; without separators, which everybody puts elsewhere.
    "password|passwd|passphrase|secret|apikey|authparams|servicekey|basicauth|jaasconfig|httpheaders|credential"
    "|accesskey|accountkey|privatekey|sharedkey|signingkey|encryptionkey|masterkey|sslkeystorekey|connectionstring"
)
_AS_WORD = frozenset({"token", "tokens", "pwd", "authorization", "sas", "sig", "signature", "cookie"})
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NOT_SECRET = re.compile(
    r"(token|password|secret)[._-]?(endpoint[._-]?)?(url|uri|endpoint|type|format|expiry|expiration|lifetime|ttl)$"
)
"""options about a secret that contain none"""


def is_secret(name: str) -> bool:
    """Whether an option of this name holds a secret."""
    if _NOT_SECRET.search(name.lower()):
        return False
    if _ANYWHERE.search(re.sub(r"[^a-z0-9]", "", name.lower())):
        return True
    words = [word.lower() for word in _WORDS.findall(name)]
    return words[-1:] == ["pass"] or any(word in _AS_WORD or word.endswith("token") for word in words)


_LITERALS = re.compile(r"'(?P<name>(?:[^']|''){0,200})'\s*=\s*'(?P<value>(?:[^']|'')*)'")
"""``'name' = 'value'``, as in WITH and SET"""
_IN_VALUES = (
    # scheme://user:word@
    re.compile(r"\b[A-Za-z][A-Za-z0-9+.\-]{0,40}://[^\s/?#'\"@:]*:(?P<value>[^\s/?#'\"]+)@"),
    # jdbc:oracle:thin:user/word@
    re.compile(r"\bjdbc:oracle:\w+:[^\s/'\"]+/(?P<value>[^\s'\"@]+)@"),
    # name=value, as in URLs, in connection strings, in configurations of JAAS
    re.compile(r"(?<![\w.\-])(?P<name>[\w.\-]+)\s*=\s*(?P<value>\"[^\"]*\"|'+[^']+'|[^\s&;,'\")}\]]+)"),
)


def mask(name: str, value: str) -> str:
    """The value of an option for messages and logs: masked if it is a secret."""
    if is_secret(name):
        return HIDDEN
    return _covered(value, (span for pattern in _IN_VALUES for span in _secrets(value, pattern)))


def holds_secret(name: str, value: str) -> bool:
    """Whether the value of an option must be masked, as a whole or in part."""
    return mask(name, value) != value


def mask_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options for messages and logs: secrets are masked."""
    return {name: mask(name, value) for name, value in options.items()}


def mask_text(text: str) -> str:
    """A message or a URL whose secrets are masked."""
    return _covered(text, _in_text(text))


def mask_statement(sql: str) -> str:
    """SQL whose secrets are masked. Comparisons with columns stay: ``WHERE token = t.id``."""
    return _covered(sql, _in_statement(sql))


def blot(sql: str) -> str:
    """SQL in which each character of a secret becomes ``*``, so that all other characters keep their positions."""
    return _covered(sql, _in_statement(sql), lambda secret: re.sub(r"[^\n]", "*", secret))


def _covered(text: str, spans: Iterable[Span], cover: Callable[[str], str] = lambda secret: HIDDEN) -> str:
    parts, at = [], 0
    for begin, end in sorted(spans):
        if begin >= at:
            parts += [text[at:begin], cover(text[begin:end])]
        elif end > at:
            parts.append(cover(text[at:end]))
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _in_text(text: str) -> Iterator[Span]:
    for pattern in (_LITERALS, *_IN_VALUES):
        yield from _secrets(text, pattern)


def _in_statement(sql: str) -> Iterator[Span]:
    yield from secret_settings(sql, is_secret)
    for at, text in quoted_texts(sql):
        for pattern in _IN_VALUES:
            for begin, end in _secrets(text, pattern):
                yield at + begin, at + end


def _secrets(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    for found in pattern.finditer(text):
        if is_secret(found.groupdict().get("name", "password")):
            yield found.span("value")
