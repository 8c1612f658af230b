"""``observe_fault``: tests what a user sees when a connector's server fails, and how soon."""

from __future__ import annotations

import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

__all__ = ["Fault", "FaultsUnderTest", "Observation", "observe_fault"]


class Fault(Enum):
    """A fault of a server."""

    REFUSED = "nobody listens at the address"
    HANGS_UP = "the server ends every connection"
    SILENT = "the server does not answer"
    PASSWORD = "wrong password"
    MISSING = "no such table, topic or index"
    TYPE = "values of another type"
    OUTAGE = "the server is gone for a moment"
    OTHER_WAY = "the same while the connector is used the other way round: read or looked up, or else written"


@dataclass(frozen=True)
class Observation:
    """The effect of a fault."""

    says: str | None
    """first line of the error; None: the job continued, and no record was lost"""
    seconds: float


class FaultsUnderTest(ABC):
    """A connector whose server can be made to fail.

    :cvar secret: a password that no message may contain.
    :cvar deadline: seconds after which a fault counts as unnoticed.
    :cvar reasons: faults that do not apply to the connector, with the reason.
    """

    secret = "Pass-Word-1234"
    deadline = 60.0
    reasons: Mapping[Fault, str] = MappingProxyType({})

    @abstractmethod
    def meet(self, fault: Fault) -> None:
        """Use the connector while its server has this fault.

        :raises Exception: the error that the user would see.
        :raises AssertionError: the fault was not noticed, or a record was lost.
        """


def observe_fault(place: FaultsUnderTest, fault: Fault, says: Callable[[BaseException], str] = str) -> Observation:
    """Observe a connector under a fault.

    :param says: the text that a user sees of an exception.
    :raises AssertionError: the fault is not noticed in time or not reported, or the secret is shown.
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
        return Observation(None, seconds)
    if place.secret in "".join(traceback.format_exception(error)):
        raise AssertionError(f"{fault.value}: the password is in the error")
    first = says(error).strip().partition("\n")[0].strip()
    if not first:
        raise AssertionError(f"{fault.value}: {type(error).__name__} says nothing")
    return Observation(first, seconds)
