"""``observe_fault``: what does a user see when a connector's server is not as it should be, and how soon?"""

from __future__ import annotations

import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

__all__ = ["Fault", "FaultsUnderTest", "Seen", "observe_fault"]


class Fault(Enum):
    """What is wrong with a server."""

    REFUSED = "nobody listens at the address"
    HANGS_UP = "the server ends every connection"
    SILENT = "the server does not answer"
    PASSWORD = "wrong password"
    MISSING = "no such table, topic or index"
    TYPE = "values of another type"
    OUTAGE = "the server is gone for a moment"
    OTHER_WAY = "the same while the connector is used the other way round: read or looked up, or else written"


@dataclass(frozen=True)
class Seen:
    """What came of a fault."""

    says: str | None
    """the error's first line; None: the job went on, and nothing was lost"""
    seconds: float


class FaultsUnderTest(ABC):
    """A connector whose server fails.

    :cvar secret: a password that no message may have in it.
    :cvar deadline: seconds after which a fault counts as not noticed.
    :cvar reasons: why there is no such fault.
    """

    secret = "Pass-Word-1234"
    deadline = 60.0
    reasons: Mapping[Fault, str] = MappingProxyType({})

    @abstractmethod
    def meet(self, fault: Fault) -> None:
        """Use the connector while its server has this fault.

        :raises Exception: what the user would see.
        :raises AssertionError: the fault was not noticed, or something is lost.
        """


def observe_fault(place: FaultsUnderTest, fault: Fault, says: Callable[[BaseException], str] = str) -> Seen:
    """Let a connector meet a fault.

    :param says: what a user sees of an exception.
    :raises AssertionError: the fault is not noticed in time, is not told, or the secret is.
    """
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            place.meet(fault)
        except BaseException as error:
            ended.append(error)
        else:
            ended.append(None)

    began = time.monotonic()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(place.deadline)
    seconds = time.monotonic() - began
    if not ended:
        raise AssertionError(f"{fault.value}: not noticed within {place.deadline:g} s")
    (error,) = ended
    if isinstance(error, AssertionError):
        raise error
    if error is None:
        if fault not in (Fault.OUTAGE, Fault.OTHER_WAY):
            raise AssertionError(f"{fault.value}: nothing is said")
        return Seen(None, seconds)
    if place.secret in "".join(traceback.format_exception(error)):
        raise AssertionError(f"{fault.value}: the password is in the error")
    first = says(error).strip().partition("\n")[0].strip()
    if not first:
        raise AssertionError(f"{fault.value}: {type(error).__name__} says nothing")
    return Seen(first, seconds)
