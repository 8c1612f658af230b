"""What becomes of an action that a server refuses."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

REJECTED = 429
"""the status of what came when the server's queues were full"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Failure:
    """An action that failed.

    :ivar kind: what the server calls it.
    :ivar action: what was sent: its line, and that of the document.
    :ivar passing: whether it may go well a little later.
    """

    status: int
    kind: str
    reason: str
    index: str
    id: str
    action: bytes = field(repr=False)
    passing: bool = False

    def __str__(self) -> str:
        which = f"document '{self.id}'" if self.id else "a document"
        return f"{which} of index '{self.index}': {self.kind} (status {self.status}): {self.reason}"


class Verdict(enum.Enum):
    """What a handler of failures says."""

    FAIL = enum.auto()
    """the job fails"""
    IGNORE = enum.auto()
    """it is left out"""
    RETRY = enum.auto()
    """it is sent again"""


FailureHandler = Callable[[Failure], Verdict]
"""Asked for each action that failed for good, or too often. What it raises fails the job."""


def fail(failure: Failure) -> Verdict:
    return Verdict.FAIL


def ignore(failure: Failure) -> Verdict:
    """Leaves it out, and says so in the log."""
    logger.warning("left out: %s", failure)
    return Verdict.IGNORE


def retry_rejected(failure: Failure) -> Verdict:
    """Sends again what came when the server's queues were full."""
    return Verdict.RETRY if failure.status == REJECTED else Verdict.FAIL


HANDLERS: dict[str, FailureHandler] = {"fail": fail, "ignore": ignore, "retry-rejected": retry_rejected}


def handler_of(name: str) -> FailureHandler:
    """:param name: one of HANDLERS, or ``module:function``.
    :raises ValueError: there is no such function.
    """
    known = HANDLERS.get(name.lower())
    if known is not None:
        return known
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ValueError(f"a failure handler is {', '.join(HANDLERS)}, or a function as module:function, not '{name}'")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the failure handler '{name}' cannot be found: {error}") from None
    if not callable(found):
        raise ValueError(f"the failure handler '{name}' is no function")
    handler: FailureHandler = found
    return handler
