"""Lets no server outlive the process that started it, however that ends.

A small process waits at a pipe whose other end only this process holds. When it closes, by a kill -9 as well, the
process groups that it was told are killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

_SOURCE = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    word, group = line.split()
    (groups.add if word == "watch" else groups.discard)(int(group))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
_lock = threading.Lock()
_watcher: tuple[int, subprocess.Popen[str]] | None = None
"""with the process that started it: a forked child has a watcher of its own"""


def watch(group: int) -> None:
    """Kill a process group when this process ends."""
    _say("watch", group)


def forget(group: int) -> None:
    """The group has ended: its number may be another's soon."""
    _say("forget", group)


def _say(word: str, group: int) -> None:
    global _watcher
    with _lock:
        if _watcher is None or _watcher[0] != os.getpid():
            started = subprocess.Popen(
                [sys.executable, "-S", "-c", _SOURCE], stdin=subprocess.PIPE, text=True, start_new_session=True
            )
            _watcher = os.getpid(), started
        pipe = _watcher[1].stdin
        assert pipe is not None
        pipe.write(f"{word} {group}\n")
        pipe.flush()
