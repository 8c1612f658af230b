"""The processes that tasks live in: where they meet, how they watch each other, and what forks share.

A worker, its keeper and the owners are processes of one user on one machine. They meet in a folder that only this user
can enter; its name is the process that starts Spark's workers (the daemon, or the executor itself), so every executor
has a keeper of its own. ``warm_up`` imports what all forks need once, in the process that they are forks of.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator

from millrace.util.folders import make_private
from millrace.util.system import is_alive, started_at

SOCKET = "k"
"""The keeper's socket in its folder."""
MAX_PATH = 100
"""Characters of a socket's path: the kernel allows 108 bytes with the end."""


def base_folder() -> str:
    """The folder of this user, made if it is not there.

    :raises NotPrivateError: others can write to it.
    """
    name = f"millrace-{os.getuid()}"
    root = tempfile.gettempdir()
    if len(os.path.join(root, name, "0000000-000000000000", SOCKET).encode()) > MAX_PATH:
        root = "/tmp"
    path = os.path.join(root, name)
    make_private(path)
    return path


def folder_of(process: int) -> str:
    """The folder of the keeper that keeps owners for the workers of a process."""
    return os.path.join(base_folder(), f"{process}-{started_at(process) or 0}")


def keepers() -> Iterator[str]:
    """The folders of all keepers of this user."""
    base = base_folder()
    for name in os.listdir(base):
        if os.path.exists(os.path.join(base, name, SOCKET)):
            yield os.path.join(base, name)


def remove(folder: str) -> None:
    """Remove the folder of a keeper, and that of the user with the last one."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(folder))


def remove_stale() -> None:
    """Remove folders whose processes were killed."""
    base = base_folder()
    for name in os.listdir(base):
        process, _, since = name.partition("-")
        if process.isdecimal() and since.isdecimal() and not is_alive(int(process), int(since) or None):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)


MODULES = (
    "pandas",  # pyarrow imports it when it makes its first array
    "millrace.connectors.generated_sources",
    "millrace.datastream.stream_execution_environment",  # what modules of user functions import
    "millrace.spark.workers.running_tasks",
    "millrace.spark.workers.owner",
    "millrace.spark.workers.stage",
)


def warm_up() -> None:
    """Import all that a fork would import by itself for each job: that takes most of a second."""
    for name in MODULES:
        importlib.import_module(name)


def own_modules() -> set[str]:
    """The modules of Millrace that this process has imported."""
    return {name for name in sys.modules if name.startswith("millrace.")}


def learn(names: Iterable[str]) -> None:
    """Import what earlier forks had to import by themselves, for the next ones: Millrace's own modules, no other."""
    new = sorted(name for name in names if name.startswith("millrace.") and name not in sys.modules)
    for name in new:
        with contextlib.suppress(ImportError):  # a fork may have had more to import from
            importlib.import_module(name)
    if new:
        gc.freeze()  # as all that forks share
