"""Processor time of processes by a mark in their environment, so that those count whose parents die before them.

A JVM that a program has started is in no one's time when the program ends first: the system adds the time of a process
to that of its parent only when the parent waits for it.
"""

from __future__ import annotations

import time

import psutil

SECONDS = 0.5
"""between two looks at the processes of the machine; what a process uses after the last look at it is not seen"""


class Census:
    """Processes whose environment has a variable, and the processor seconds of each value of it.

    Only what has been started by exec has the environment that its parent gave it; a fork shows that of its parent.
    """

    def __init__(self, variable: str) -> None:
        self._prefix = f"{variable}="
        self._looked = 0.0
        self._marks: dict[tuple[int, float], str] = {}
        """(pid, when it began) -> the value in its environment; empty: it has none"""
        self._used_s: dict[tuple[int, float], float] = {}
        """as last seen, without what its children have used"""

    def look(self) -> None:
        """Look at all processes, if the last look was some time ago."""
        if time.monotonic() < self._looked + SECONDS:
            return
        self._looked = time.monotonic()
        for process in psutil.process_iter():
            try:
                key = process.pid, process.create_time()
                if key not in self._marks:
                    self._marks[key] = self._mark(process.pid)
                if self._marks[key]:
                    self._used_s[key] = sum(process.cpu_times()[:2])
            except (psutil.Error, OSError):
                continue  # it has ended, or is another user's

    def _mark(self, pid: int) -> str:
        with open(f"/proc/{pid}/environ", "rb") as file:
            found = file.read().decode(errors="replace").split("\0")
        return next((each.removeprefix(self._prefix) for each in found if each.startswith(self._prefix)), "")

    def of(self, value: str) -> float:
        """Seconds that all processes with this value have used until the last look."""
        return sum(used for key, used in self._used_s.items() if self._marks[key] == value)
