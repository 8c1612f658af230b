"""A source of a job whose tasks are killed while they are restored: the executor of the first one that has its state,
and later the process of another one, each once.

Workers hear of it when they unpickle the source: so none has to be started in another way.
"""

from __future__ import annotations

import functools
import os
import signal
from pathlib import Path
from typing import Any

import psutil
from tests.programs import ListSource

from millrace.checkpoint.snapshot_files import FolderSnapshots

FOLDER = "MILLRACE_TEST_KILLED"
"""The environment variable of executors: a folder in which there is a file for each kill."""
KILLS = ("executor", "owner")


class MortalSource(ListSource):
    """Brings this module to those who read it."""


def killed(folder: Path) -> list[str]:
    """What was killed, as far as it has come."""
    return sorted(path.name for path in folder.iterdir())


def _claimed(folder: Path) -> str | None:
    """What is to be killed now by this process alone."""
    done = len(killed(folder))
    if done == len(KILLS):
        return None
    try:
        os.close(os.open(folder / f"{done} {KILLS[done]}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return None
    return KILLS[done]


def _kill(what: str) -> None:
    if what == "executor":
        above = psutil.Process().parents()
        next(process for process in above if "CoarseGrained" in " ".join(process.cmdline())).kill()
    os.kill(os.getpid(), signal.SIGKILL)


def _install(folder: Path) -> None:
    load = FolderSnapshots.load

    @functools.wraps(load)
    def loaded(*args: Any, **named: Any) -> Any:
        found = load(*args, **named)
        if (what := _claimed(folder)) is not None:
            _kill(what)
        return found

    FolderSnapshots.load = loaded  # type: ignore[method-assign]


if FOLDER in os.environ:
    _install(Path(os.environ[FOLDER]))
