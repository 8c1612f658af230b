"""Describes a failure in a task as text that can travel to the driver, and the errors that carry it."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.restart_strategy import SuppressRestartsException

if TYPE_CHECKING:
    from millrace.runtime.operators.job_graph import OperatorInfo

ELEMENT_LIMIT = 200
"""Characters of an element's repr that an error shows."""

_RENDERED = re.compile(r"^millrace\.runtime\.failure\.OperatorError: (.*?^  cause:   [^\n]*)", re.MULTILINE | re.DOTALL)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@dataclass(frozen=True)
class Failure:
    """Describes why a task failed: the operator, the element, the user's line, the cause. All text, so it can always be
    pickled."""

    operator: str
    subtask: int
    """index of the subtask; -1: the operator's code on the driver failed"""
    origin: str
    """file:line where the user made the operator; empty if the job as a whole failed, then ``operator`` is the job's
    name"""
    cause: str
    """type and message of the error, as in the last line of its traceback"""
    element: str | None = None
    location: str | None = None
    """file:line of the deepest frame in the user's code"""
    detail: str = ""
    """the whole traceback"""
    during: str = ""
    """what the operator was doing, if it was not processing an element"""
    step: str = ""
    """the step after the operator that failed, with the user's file:line: ``key_by() at job.py:12``"""
    final: bool = False
    """whether the job must fail without a restart"""

    def render(self) -> str:
        """The text that users see first."""
        operator = f"operator {self.operator!r}" + (f" (subtask {self.subtask + 1})" if self.subtask >= 0 else "")
        if not self.origin:
            lines = [f"job {self.operator!r} failed{self.during}"]
        elif self.step:
            lines = [f"{self.step}, behind {operator}, failed{self.during}"]
        else:
            lines = [f"{operator}, made at {self.origin}, failed{self.during}"]
        if self.element is not None:
            lines.append(f"  element: {self.element}")
        if self.location is not None:
            lines.append(f"  at:      {self.location}")
        lines.append(f"  cause:   {self.cause}")
        return "\n".join(lines)

    @staticmethod
    def rendered_in(text: str) -> str | None:
        """The rendered text of the first ``OperatorError`` in a traceback; None if there is none."""
        found = _RENDERED.search(text)
        return None if found is None else found[1]


class OperatorError(Exception):
    """Raised inside a task; carries the description of the failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.render())
        self.failure = failure


class JobFailedError(Exception):
    """The job has failed; the text begins with the operator and the user's line.

    :param concurrent: failures of other tasks in the same epoch.
    """

    concurrent: tuple[Failure, ...] = ()

    def __init__(self, failure: Failure, concurrent: Sequence[Failure] = ()) -> None:
        super().__init__(failure.render())
        self.failure = failure
        self.concurrent = tuple(concurrent)


def failed_on_driver(info: OperatorInfo, cause: Exception, during: str) -> JobFailedError:
    """The error to raise when the driver's side of an operator (enumerator, committer) failed."""
    return JobFailedError(
        Failure(
            operator=info.name,
            subtask=-1,
            origin=info.origin,
            cause=describe(cause),
            location=user_location(cause),
            detail=full_traceback(cause),
            during=during,
            final=is_final(cause),
        )
    )


def is_final(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, forbids restarts."""
    return error is not None and any(isinstance(each, SuppressRestartsException) for each in _causes(error))


def shorten(value: Any, limit: int = ELEMENT_LIMIT) -> str:
    """The value's repr, cut in the middle; never raises."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr failed: {type(error).__name__}>"
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} ... {text[-(limit - head) :]} ({len(text)} characters)"


def user_location(error: BaseException) -> str | None:
    """file:line of the deepest traceback frame outside Millrace and the standard library's machinery."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_PACKAGE, "<frozen")) and f"{os.sep}cloudpickle{os.sep}" not in frame.filename
    ]
    own = [frame for frame in frames if f"{os.sep}site-packages{os.sep}" not in frame.filename] or frames
    library = os.path.dirname(os.__file__) + os.sep
    own = [frame for frame in own if not frame.filename.startswith(library)] or own
    if not own:
        return None
    last = own[-1]
    code = f": {last.line}" if last.line else ""
    return f"{last.filename}:{last.lineno} in {last.name}{code}"


def check_complete(results: Sized, values: Sized) -> None:
    """Raise if ``list(map(function, values))`` ended early: it takes a StopIteration of the user's code for the end."""
    if len(results) < len(values):
        raise RuntimeError("the function raised StopIteration")


def describe(error: BaseException) -> str:
    """Type and message in one line, as a traceback ends."""
    if type(error).__module__.startswith("millrace."):
        return f"{type(error).__name__}: {error}".replace("\n", " | ")
    text = "".join(traceback.format_exception_only(type(error), error)).strip().replace("\n", " | ")
    # Without a message the class alone says little, so the first cause with a message is added.
    spoken = None if _text_of(error) else next((each for each in _causes(error) if _text_of(each)), None)
    return text if spoken is None else f"{text}: {describe(spoken)}"


def _text_of(error: BaseException) -> str:
    """The message of an error; empty also where ``str`` of the error fails."""
    try:
        return str(error).strip()
    except Exception:
        return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes, each once: an error may be its own cause."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        yield found
        seen.add(id(found))
        found = found.__cause__


def full_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))
