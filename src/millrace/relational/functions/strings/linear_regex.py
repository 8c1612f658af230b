"""Whether texts match, in a time that grows with their length alone.

``re`` goes back and tries again: ``(a+)+$`` on a text of forty letters takes years, and holds the interpreter for as
long. Arrow's RE2 never goes back. What a match and its groups are can differ; whether there is one cannot, where both
read the expression alike. So that is asked here, for more expressions than ``plain_regex`` takes.
"""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["LinearTest", "linear_test"]

_REPEATED = r"(?:(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{]))?"
_IN_SET = r"[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _=/:;,@%#\"'<>!`~&|.*+?(){}$]|[^\x00-\x7f]|\\[!-/:-@\[-^`{-}]"
_TOKEN = re.compile(
    r"(?P<any>\.)" + f"(?P<times_any>{_REPEATED})"
    r"|(?P<blank>\\s)" + f"(?P<times_blank>{_REPEATED})"
    r"|(?:[A-Za-z0-9 _=&/:;,@%#\"'<>!`~-]|[^\x00-\x7f]|\\[dDwW \-!-/:-@\[-^`{-~]"
    rf"|\[\^?(?:{_IN_SET})+\]){_REPEATED}"
    rf"|\((?:\?:|(?!\?))|\){_REPEATED}|[|^]|(?P<end>\$(?=\)*\Z))"
)
_BLANKS = r"[ \t\n\r\f\v]"
_LAST = r"(?:\n?\z)"


class LinearTest:
    """An expression that RE2 has.

    :param whole: whether it has to match all of a text, not some of it.
    """

    def __init__(self, expression: str, whole: bool) -> None:
        self._expression = rf"\A(?:{expression})\z" if whole else expression

    def matches(self, texts: pa.Array) -> pa.Array:
        """Whether each text matches; NULL for NULL."""
        return pc.match_substring_regex(texts, self._expression)


@lru_cache(maxsize=500)
def linear_test(regex: re.Pattern[str], whole: bool = False) -> LinearTest | None:
    """None for one that has more in it than both read alike: it goes row by row.

    :param regex: as ``re`` has it.
    """
    is_ascii, every = bool(regex.flags & re.ASCII), bool(regex.flags & re.DOTALL)
    if regex.flags & (re.IGNORECASE | re.MULTILINE | re.VERBOSE):
        return None
    parts, place = [], 0
    while place < len(regex.pattern):
        token = _TOKEN.match(regex.pattern, place)
        if token is None or (not is_ascii and re.match(r"\\[dDwWs]", token[0])):
            return None
        place = token.end()
        parts.append(_written(token, every))
    test = LinearTest("".join(parts), whole)
    try:
        test.matches(pa.array([""]))
    except pa.ArrowInvalid:  # a number of repetitions that is too large for it
        return None
    return test


def _written(token: re.Match[str], every: bool) -> str:
    if token["any"]:
        return ("(?s:.)" if every else r"[^\n]") + token["times_any"]
    if token["blank"]:
        return _BLANKS + token["times_blank"]
    return _LAST if token["end"] else token[0]
