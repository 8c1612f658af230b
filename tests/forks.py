"""Processes of tests that are forks of this one: they need not import what it has, which is most of their time.

What is about the start of an interpreter, or about what a command imports, has to start one (``subprocess``).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any, AnyStr, NoReturn

OF_PYTHON = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""warnings that Python ignores if not told otherwise; in tests warnings are errors"""


class Forked(subprocess.Popen[AnyStr]):
    """A function in a process of its own, with all that ``Popen`` offers: ``Forked(function, stdout=PIPE)``.

    The exit code is that of ``sys.exit`` in the function, else 1 after an exception and 0 after none.
    """

    def __init__(self, run: Callable[[], object], **options: Any) -> None:
        self._run = run
        super().__init__([getattr(run, "__name__", "a fork")], **options)

    def _execute_child(
        self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any, env: Any,
        startupinfo: Any, creationflags: Any, shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int,
        errread: int, errwrite: int, *rest: Any,
    ) -> None:  # fmt: skip
        """What ``Popen`` calls to start the command: fork, and do not exec."""
        new_session = rest[5]
        self.pid = os.fork()
        if self.pid == 0:
            _become(self._run, (p2cread, c2pwrite, errwrite), cwd, env, preexec_fn, new_session)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]


def orphan(run: Callable[[], object]) -> None:
    """Run a function in a process of a session of its own that is no child of this one."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    if os.fork() == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        _become(run, (nothing, -1, -1), None, None, None, True)
    os._exit(0)


def _release(first: int) -> None:
    """Let go of all files from this number on. Libraries close theirs when the process ends, and Arrow aborts it if
    that fails, so the numbers stay valid."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= first and int(name) != nothing:
            with contextlib.suppress(OSError):  # the one that lists them
                os.fstat(int(name))
                os.dup2(nothing, int(name), inheritable=False)


def _show(warning: warnings.WarningMessage) -> None:
    """Print a warning, as Python does; pytest collects them."""
    sys.stderr.write(warnings._formatwarnmsg(warning))  # type: ignore[attr-defined]


def _become(
    run: Callable[[], object],
    streams: tuple[int, ...],
    cwd: str | None,
    env: Mapping[str, str] | None,
    before: Callable[[], object] | None,
    new_session: bool,
) -> NoReturn:
    """Be a process as exec would have made it, but with all modules; run the function and end.

    :param streams: what becomes file 0, 1 and 2; -1: it stays as it is.
    """
    code = 1
    # What is garbage here belongs to the parent: a client of Kafka that is collected where its threads are not crashes.
    gc.freeze()
    try:
        for number in range(1, signal.NSIG):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        atexit._clear()
        logging.root.handlers.clear()
        warnings._showwarnmsg_impl = _show  # type: ignore[attr-defined]
        warnings.resetwarnings()
        for each in OF_PYTHON:
            warnings.simplefilter("ignore", each)
        for number, file in enumerate([os.dup(file) if file >= 0 else -1 for file in streams]):
            if file >= 0:
                os.dup2(file, number)
        _release(3)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            mode, buffering = ("w" if number else "r"), (1 if number == 2 else -1)
            stream = os.fdopen(number, mode, buffering, closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # no program with streams of its own
        if new_session:
            os.setsid()
        if cwd is not None:
            os.chdir(cwd)
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        tempfile.tempdir = None  # the environment may name another folder
        if before is not None:
            before()
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
