"""Which options hold secrets, and texts in which these can't be read.

An option holds a secret if its name says so, in any case: it has one of the words that Flink hides (``password``,
``secret``, ``token`` and others), or names a key that opens something (``access-key``, not ``key.format`` or
``primary-key``). Credentials inside a value, as in ``jdbc:postgresql://host/db?password=...`` or
``https://user:word@host``, are hidden, too, whatever the option's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from millrace.util.secret_settings import Span, quoted_texts, secret_settings

__all__ = ["HIDDEN", "blot", "holds_secret", "is_secret", "mask", "mask_options", "mask_statement", "mask_text"]

HIDDEN = "******"
"""what stands for a secret: as in Flink"""

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
"""about a secret, but none"""


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
    """The value of an option as people may see it."""
    if is_secret(name):
        return HIDDEN
    return _covered(value, (span for pattern in _IN_VALUES for span in _secrets(value, pattern)))


def holds_secret(name: str, value: str) -> bool:
    """Whether people may not see the value of an option as it is."""
    return mask(name, value) != value


def mask_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options as people may see them."""
    return {name: mask(name, value) for name, value in options.items()}


def mask_text(text: str) -> str:
    """A message or a URL as people may see it."""
    return _covered(text, _in_text(text))


def mask_statement(sql: str) -> str:
    """SQL as people may see it. What it compares columns with stays: ``WHERE token = t.id``."""
    return _covered(sql, _in_statement(sql))


def blot(sql: str) -> str:
    """The same with every character in its place."""
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
