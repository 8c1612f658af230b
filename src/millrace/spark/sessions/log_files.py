"""Log files of drivers: as many and as large as can be read, and no more.

All that write to one (the JVM, processes that have it as their standard error, Millrace) append, so it can be cut while
they do.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import os
import re
import tempfile
import threading
import time
from collections.abc import Mapping

from millrace.configuration.log_limits import DIRECTORY, OLDER_FILES, log_limits
from millrace.util.log_rotation import LogLimits, cut
from millrace.util.processes import is_alive

__all__ = ["log_file_path", "look_after", "remove_old"]

KEPT_SECONDS = 14 * 24 * 3_600.0
"""How long the log of a process that is gone stays."""
_LOOK_SECONDS = 30.0
_OURS = re.compile(r"^millrace-(?:(\d+)-)?\w+\.log(?:\.\d+|4j2\.properties)?$")


def log_file_path(configuration: Mapping[str, str]) -> str:
    """A fresh log file in ``env.log.dir``, or in the temporary directory. What others have left goes after a while.

    :raises ValueError: the configuration says nonsense about logs.
    """
    log_limits(configuration)
    directory = configuration.get(DIRECTORY)
    if directory is None:
        directory = tempfile.gettempdir()
    else:
        os.makedirs(directory, exist_ok=True)
    remove_old(directory)
    handle, path = tempfile.mkstemp(prefix=f"millrace-{os.getpid()}-", suffix=".log", dir=os.path.abspath(directory))
    os.close(handle)
    return path


def look_after(path: str, configuration: Mapping[str, str]) -> None:
    """Keep a log file short while this process lives; it goes with the process if nothing is in it."""
    limits = log_limits(configuration)
    if DIRECTORY not in configuration and OLDER_FILES not in configuration:
        limits = LogLimits(limits.file_bytes, 1)  # nobody looks after the temporary directory
    threading.Thread(target=_keep_short, args=(path, limits), name="millrace-log", daemon=True).start()
    atexit.register(_remove_empty, path, os.getpid())


def _keep_short(path: str, limits: LogLimits) -> None:
    while os.path.exists(path):
        time.sleep(_LOOK_SECONDS)
        with contextlib.suppress(OSError):
            cut(path, limits)


def _remove_empty(path: str, process: int) -> None:
    if process != os.getpid():
        return  # a fork of the process that it belongs to
    with contextlib.suppress(OSError):
        if os.path.getsize(path) == 0 and not os.path.exists(f"{path}.1"):
            os.unlink(path)
            os.unlink(path.removesuffix(".log") + ".log4j2.properties")


def remove_old(folder: str) -> None:
    """Delete old logs of this user's processes that are gone."""
    for path in glob.glob(os.path.join(glob.escape(folder), "millrace-*.log*")):
        name = _OURS.match(os.path.basename(path))
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            old = time.time() - status.st_mtime > KEPT_SECONDS
            if name is not None and old and status.st_uid == os.getuid() and not (name[1] and is_alive(int(name[1]))):
                os.unlink(path)
