"""What goes wrong between a client and its gateway."""

from __future__ import annotations

import re
from collections.abc import Sequence

_AROUND = re.compile(r"<Exception on server side:\s*(?P<inner>.*?)\s*End of exception on server side>", re.DOTALL)
_CAUSE = re.compile(r"^Caused by: ", re.MULTILINE)
_STACK = re.compile(r"^\s+at .*$|^\s*\.\.\. \d+ more$", re.MULTILINE)
_CLASS = re.compile(r"^[\w.$]*[\w$](?:Error|Exception|Interrupt)\b: ?")


class GatewayClientError(Exception):
    """Something went wrong between a client and its gateway."""


class UnreachableError(GatewayClientError):
    """The gateway gave no answer, or one that is none of a gateway's."""


class NotAllowedError(GatewayClientError):
    """The gateway wants a token, and none or another was shown."""


class RefusedError(GatewayClientError):
    """The gateway has refused a request, or the statement that it is about has failed.

    :param texts: as the gateway gives them; the last one with all causes.
    """

    def __init__(self, status: int, texts: Sequence[str]) -> None:
        self.status = status
        self.texts = tuple(texts)
        super().__init__(root_cause(self.texts))


class StatementEndedError(GatewayClientError):
    """The statement ended before its result was there: it was cancelled, or took too long."""


def root_cause(texts: Sequence[str]) -> str:
    """The innermost of the causes that a gateway names, without Java's stack and names of classes."""
    text = texts[-1] if texts else "the gateway gives no reason"
    around = _AROUND.search(text)
    inner = _CAUSE.split(around["inner"] if around else text)[-1]
    return _CLASS.sub("", _STACK.sub("", inner).strip()) or text
