"""Stacks and tracebacks: the user's line of an operator, errors without Millrace's frames, and stacks of threads.

Stacks are of this process's threads, at one moment or sampled. No other process is stopped or inspected.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import length_hint
from pathlib import Path
from types import FrameType, TracebackType
from typing import Generic, NamedTuple, TypeVar

VARIABLE = "MILLRACE_TRACEBACK"
"""Environment variable; with ``full`` errors show all frames."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_RUNPY = "runpy.py"
_FRAME_LIMIT = 500


def raised_by_millrace(error: BaseException) -> bool:
    """Whether Millrace raised the error on purpose; a bug inside Millrace shows its traceback."""
    frames = _frames(error)
    if not frames or not _ours(frames[-1][0]):
        return False
    frame, line = frames[-1]
    return linecache.getline(frame.f_code.co_filename, line, frame.f_globals).lstrip().startswith("raise ")


def below_millrace(error: BaseException) -> bool:
    """Whether the innermost code that isn't a library's is Millrace's, not the user's."""
    own = [frame for frame, _ in _frames(error) if not _library(frame)]
    return bool(own) and _ours(own[-1])


def user_traceback(error: BaseException, keep_ours: bool) -> str:
    """The traceback from the program's first line on, without frames of Millrace and ``runpy``."""
    described = traceback.TracebackException.from_exception(error, limit=-_FRAME_LIMIT, capture_locals=False)
    _strip(described, keep_ours)
    lines = described.format() if described.stack else described.format_exception_only()
    return "".join(lines).rstrip()


def shorten_uncaught() -> None:
    """Install a hook that shows uncaught errors of Millrace with the program's own lines only. An existing hook
    stays."""
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
    """The frames without Millrace's and those of libraries that Millrace calls, up to the program's own code."""
    inside = False
    for frame in frames:
        inside = _our_file(frame.filename) or (inside and _library_file(frame.filename))
        if not inside:
            yield frame


def _frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of the traceback from the program's first one on, with their lines."""
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


# The line that made an operator


def user_origin() -> str:
    """file:line of the nearest caller outside Millrace."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(_PACKAGE):
            return f"{filename}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "<unknown>"


# What threads do

L = TypeVar("L")
"""The label of a sampled thread."""


class ThreadStack(NamedTuple):
    """A thread's stack at one moment."""

    name: str
    text: str
    """the thread's name, state and stack, one frame a line, the last call first"""


class Thread(NamedTuple, Generic[L]):
    """A thread that is sampled."""

    label: L
    native_id: int


class Sample(NamedTuple, Generic[L]):
    """A sampled stack of a thread, the first call first."""

    label: L
    on_cpu: bool
    frames: tuple[str, ...]


def stacks() -> list[ThreadStack]:
    """The stacks of all Python threads of this process, the caller's included."""
    names = {thread.ident: thread for thread in threading.enumerate()}
    found = []
    for ident, frame in list(sys._current_frames().items()):
        thread = names.get(ident)
        name = f"thread {ident}" if thread is None else thread.name
        kind = " daemon" if thread is not None and thread.daemon else ""
        native = "" if thread is None else f" nid={thread.native_id}"
        lines = [f'"{name}" Id={ident}{native}{kind}']
        lines += [f"\tat {describe(at, line)}" for at, line in traceback.walk_stack(frame)]
        found.append(ThreadStack(name, "\n".join(lines) + "\n"))
    return found


def stack(thread: int) -> str:
    """The stack of a thread by its identifier; empty if there is none."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return ""
    return "".join(f"\tat {describe(at, line)}\n" for at, line in traceback.walk_stack(frame))


def describe(frame: FrameType, line: int) -> str:
    """A frame as one line: ``module.function:line``."""
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # since Python 3.11
    module = frame.f_globals.get("__name__") or Path(code.co_filename).name
    return f"{module}.{name}:{line}"


def sample(
    threads: Callable[[], Mapping[int, Thread[L]]], seconds: float, hertz: int, leave_out: Callable[[str], bool]
) -> Counter[Sample[L]]:
    """Sample threads; returns how often each stack was seen.

    :param threads: is called for each sample: identifier of each thread to sample.
    :param leave_out: modules whose frames at the bottom of a stack are left out.
    """
    found: Counter[Sample[L]] = Counter()
    used: dict[int, int] = {}
    pause = 1 / hertz
    until = time.monotonic() + seconds
    while True:
        watched = threads()
        frames = sys._current_frames() if watched else {}
        for ident, thread in watched.items():
            frame = frames.get(ident)
            before = used.get(thread.native_id)
            now = used[thread.native_id] = processor_ns(thread.native_id)
            if frame is not None and before is not None:
                # What it has used since the last look says whether it worked or waited.
                on_cpu = now < 0 or now - before >= pause * 1e9 / 2
                found[Sample(thread.label, on_cpu, _calls(frame, leave_out))] += 1
        del frames
        left = until - time.monotonic()
        if left <= 0:
            return found
        time.sleep(min(pause, left))


def _calls(frame: FrameType, leave_out: Callable[[str], bool]) -> tuple[str, ...]:
    calls = [(at, line) for at, line in traceback.walk_stack(frame)][::-1]
    begin = 0
    while begin < len(calls) - 1 and leave_out(calls[begin][0].f_globals.get("__name__") or ""):
        begin += 1
    return tuple(describe(at, line) for at, line in calls[begin:])


_ITERATORS: tuple[type, ...] = tuple(map(type, (iter([]), iter(()), iter(range(0)), iter({}), iter(deque()))))
_SIZED: tuple[type, ...] = (list, dict, set, deque)


def place_in(thread: int, ours: Callable[[str], bool]) -> int:
    """A number that changes when a thread of this process makes progress in our own code.

    It covers the calls that lead to a call of other modules, which may take long. Where these are in a loop, its
    iterators
    and the sizes of its variables show the progress.

    :param thread: its identifier.
    :param ours: whether a module is one of our own.
    """
    frame = sys._current_frames().get(thread)
    if frame is None:
        return 0
    calls = [at for at, _ in traceback.walk_stack(frame)][::-1]
    del frame
    names = [call.f_globals.get("__name__") or "" for call in calls]
    begin = next((number for number, name in enumerate(names) if ours(name)), len(names))
    end = next((number for number in range(begin, len(names)) if not ours(names[number])), len(names))
    return hash(tuple((id(call), call.f_lasti, _sizes(call)) for call in calls[begin:end]))


def _sizes(call: FrameType) -> tuple[tuple[str, int], ...]:
    """The progress of a call's loops, by its variables."""
    found = []
    for name, value in list(call.f_locals.items()):
        kind = type(value)
        if kind in _SIZED:
            found.append((name, len(value)))
        elif kind in _ITERATORS:
            found.append((name, length_hint(value)))
        elif kind is int:
            found.append((name, value))
        else:
            found += [(name, length_hint(own)) for own in _attributes(value) if type(own) in _ITERATORS]
    return tuple(found)


def _attributes(value: object) -> list[object]:
    """The attributes of an object of Millrace, read without calling anything."""
    if not type(value).__module__.startswith("millrace."):
        return []
    with contextlib.suppress(TypeError, RuntimeError):
        return list(vars(value).values())
    return []


def processor_ns(native_id: int) -> int:
    """Processor time of a thread of this process (ns); -1: unknown, or the thread has ended."""
    try:
        return int(Path(f"/proc/self/task/{native_id}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return -1
