"""Tracebacks as authors of programs want them: their own lines, without those of the machinery."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType

__all__ = ["below_millrace", "raised_by_millrace", "shorten_uncaught", "user_traceback"]

VARIABLE = "MILLRACE_TRACEBACK"
"""``full`` in the environment: errors show all frames."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_RUNPY = "runpy.py"
_FRAME_LIMIT = 500


def raised_by_millrace(error: BaseException) -> bool:
    """Whether Millrace raised the error on purpose; a slip inside Millrace deserves its traceback."""
    frames = _frames(error)
    if not frames or not _ours(frames[-1][0]):
        return False
    frame, line = frames[-1]
    return linecache.getline(frame.f_code.co_filename, line, frame.f_globals).lstrip().startswith("raise ")


def below_millrace(error: BaseException) -> bool:
    """Whether the last code that isn't a library's is Millrace's, not the user's."""
    own = [frame for frame, _ in _frames(error) if not _library(frame)]
    return bool(own) and _ours(own[-1])


def user_traceback(error: BaseException, keep_ours: bool) -> str:
    """The traceback from the program's first line on, without what Millrace and ``runpy`` add to it."""
    described = traceback.TracebackException.from_exception(error, limit=-_FRAME_LIMIT, capture_locals=False)
    _strip(described, keep_ours)
    lines = described.format() if described.stack else described.format_exception_only()
    return "".join(lines).rstrip()


def shorten_uncaught() -> None:
    """From now on an error that Millrace raises on purpose, and that the program does not catch, is shown with the
    program's own lines only. A hook for errors that is there stays."""
    if sys.excepthook is sys.__excepthook__ and os.environ.get(VARIABLE) != "full":
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    try:
        text = user_traceback(error, keep_ours=False) if raised_by_millrace(error) else None
    except Exception:  # an error must be shown, whatever it is
        text = None
    if text is None:
        sys.__excepthook__(kind, error, trace)
    else:
        print(text, file=sys.stderr)


def _strip(described: traceback.TracebackException, keep_ours: bool) -> None:
    frames = list(described.stack)
    while frames and _starts_programs(frames[0].filename):
        del frames[0]
    if not keep_ours:
        frames = list(_without_ours(frames))
    described.stack = traceback.StackSummary.from_list(frames)
    for other in (described.__cause__, described.__context__):
        if other is not None:
            _strip(other, keep_ours)


def _without_ours(frames: Iterable[traceback.FrameSummary]) -> Iterator[traceback.FrameSummary]:
    """Leaves out what Millrace calls, too, up to the program's own code."""
    inside = False
    for frame in frames:
        inside = _our_file(frame.filename) or (inside and _library_file(frame.filename))
        if not inside:
            yield frame


def _frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of the traceback from the program's own first one, with their lines."""
    frames = []
    step: TracebackType | None = error.__traceback__
    while step is not None:
        frames.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    while frames and _starts_programs(frames[0][0].f_code.co_filename):
        del frames[0]
    return frames


def _ours(frame: FrameType) -> bool:
    return _our_file(frame.f_code.co_filename)


def _our_file(filename: str) -> bool:
    return filename.startswith(_PACKAGE)


def _starts_programs(filename: str) -> bool:
    return _our_file(filename) or filename.startswith("<frozen") or os.path.basename(filename) == _RUNPY


def _library(frame: FrameType) -> bool:
    return _library_file(frame.f_code.co_filename)


def _library_file(filename: str) -> bool:
    installed = f"{os.sep}site-packages{os.sep}" in filename and not filename.startswith(_PACKAGE)
    return installed or filename.startswith(("<frozen", os.path.dirname(os.__file__) + os.sep))
