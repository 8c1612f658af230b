"""Names of files that are being written: they tell who writes, so that what a killed process leaves can be deleted."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable

from millrace.util.processes import is_alive, this_machine

TEMPORARY = ".tmp"
"""The end of such names."""
ABANDONED_SECONDS = 3_600.0
"""A file of a process on another machine that has not grown for so long is left over."""
_WRITER = re.compile(r"\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.tmp$")


def name_aside(target: str) -> str:
    """Where this process writes what will be ``target``."""
    return f"{target}.{this_machine()}-{os.getpid()}-{uuid.uuid4().hex[:8]}{TEMPORARY}"


def is_left_over(name: str, age: Callable[[], float | None]) -> bool:
    """Whether a file is not written any more.

    :param age: how long ago it was written (s), by the clock that gives the files there their times, if that is known.
    """
    writer = _WRITER.search(name)
    if writer is not None and writer[1] == this_machine():
        return not is_alive(int(writer[2]))
    silent = age()
    return silent is not None and silent > ABANDONED_SECONDS
