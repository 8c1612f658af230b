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
    """Whether a process of ``this_machine`` lives; one that is dead and was not waited for does not.

    :param started: ``started_at`` of it, so that another one with its number is not taken for it.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if (_stat(process) or [""])[0] in ("Z", "X"):
        return False  # containers may have nobody who takes leave of orphans
    return started is None or started_at(process) in (started, None)


def started_at(process: int) -> int | None:
    """When a process was started, in ticks since the machine's start; None where that can't be told."""
    try:
        return int(_stat(process)[19])
    except (ValueError, IndexError):
        return None


def _stat(process: int) -> list[str]:
    """What Linux tells of a process, from its state on; nothing where it can't be told."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
