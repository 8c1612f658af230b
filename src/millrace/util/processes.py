"""Which processes live on this machine."""

from __future__ import annotations

import os
import socket
import zlib
from functools import lru_cache

__all__ = ["is_alive", "started_at", "this_machine"]


@lru_cache(maxsize=1)
def this_machine() -> str:
    """Eight characters for the space of process numbers that this one is in: a machine since its last start, or a
    container."""
    parts = [socket.gethostname()]
    for read in (_boot_id, _namespace):
        try:
            parts.append(read())
        except OSError:
            continue  # no Linux
    return f"{zlib.crc32(' '.join(parts).encode()):08x}"


def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")


def is_alive(process: int, started: int | None = None) -> bool:
    """Whether a process of ``this_machine`` lives; one that has ended does not, also before its parent hears of it.

    :param started: ``started_at`` of it, so that another one with its number is not taken for it.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    stat = _stat(process)
    if stat is not None and stat[0] in ("Z", "X"):
        return False  # it has ended, and nobody has asked how
    return started is None or started_at(process) in (started, None)


def started_at(process: int) -> int | None:
    """When a process was started, in ticks since the machine's start; None where that can't be told."""
    stat = _stat(process)
    return None if stat is None else int(stat[19])


def _stat(process: int) -> list[str] | None:
    """What the system says of a process, from its state on; None where it says nothing."""
    try:
        with open(f"/proc/{process}/stat") as file:
            found = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return found if len(found) > 19 and found[19].isdecimal() else None
