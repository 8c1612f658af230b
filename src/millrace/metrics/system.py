"""Metrics of a process and its machine, under Flink's names. Without psutil there are none."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

__all__ = ["Machine", "OwnProcess", "wants_machine"]

SYSTEM_RESOURCE = "metrics.system-resource"
"""Option: whether processors, memory and network of the machine are metrics."""
FRESH_SECONDS = 1.0
"""Shortest time between two measurements (s): shares and rates are averaged over it."""
_UNDEFINED = -1
"""Flink's value for "no limit"."""


def wants_machine(configuration: Mapping[str, str]) -> bool:
    """Whether the machine's metrics are enabled."""
    return configuration.get(SYSTEM_RESOURCE, "").lower() == "true"


class _Remembered:
    """Measures at most once a second, so that concurrent readers see the same shares."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._figures: dict[str, float] = {}
        self._looked: float | None = None

    def read(self) -> Mapping[str, float]:
        """The latest values, measured at most ``FRESH_SECONDS`` ago."""
        try:
            import psutil
        except ImportError:
            return {}
        with self._lock:
            now = time.monotonic()
            if self._looked is None or now - self._looked >= FRESH_SECONDS:
                self._figures = self._look(psutil, None if self._looked is None else now - self._looked)
                self._looked = now
            return self._figures

    def _look(self, psutil: Any, seconds: float | None) -> dict[str, float]:
        """:param seconds: time since the last measurement (s); None: this is the first."""
        raise NotImplementedError


class OwnProcess(_Remembered):
    """This process, a Python one: its memory stands for Flink's heap, which has no limit here."""

    def __init__(self) -> None:
        super().__init__()
        self._before = time.process_time()

    def _look(self, psutil: Any, seconds: float | None) -> dict[str, float]:
        process = psutil.Process()
        spent = time.process_time()
        load = 0.0 if seconds is None else (spent - self._before) / seconds / (os.cpu_count() or 1)
        self._before = spent
        found: dict[str, float] = {
            "Status.JVM.CPU.Load": min(load, 1.0),
            "Status.JVM.CPU.Time": int(spent * 1e9),
            "Status.JVM.Memory.Heap.Used": process.memory_info().rss,
            "Status.JVM.Memory.Heap.Committed": process.memory_info().rss,
            "Status.JVM.Memory.Heap.Max": _UNDEFINED,
            "Status.JVM.Threads.Count": process.num_threads(),
            "Status.JVM.GarbageCollector.All.Count": sum(each["collections"] for each in gc.get_stats()),
        }
        if hasattr(process, "num_fds"):
            found["Status.JVM.FileDescriptor.Open"] = process.num_fds()
        if hasattr(process, "rlimit"):
            found["Status.JVM.FileDescriptor.Max"] = process.rlimit(psutil.RLIMIT_NOFILE)[0]
        return found


class Machine(_Remembered):
    """This machine: ``metrics.system-resource``. Shares of processors are percent of all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: dict[str, tuple[int, int]] = {}

    def _look(self, psutil: Any, seconds: float | None) -> dict[str, float]:
        return {**_processors(psutil), **_memory(psutil), **self._network(psutil, seconds)}

    def _network(self, psutil: Any, seconds: float | None) -> dict[str, float]:
        """Bytes per second, by network interface; empty at the first measurement."""
        now = {name: (each.bytes_recv, each.bytes_sent) for name, each in psutil.net_io_counters(pernic=True).items()}
        before, self._sent = self._sent, now
        found: dict[str, float] = {}
        for name, (received, sent) in now.items():
            had = before.get(name)
            if had is not None and seconds:
                found[f"System.Network.{name}.ReceiveRate"] = (received - had[0]) / seconds
                found[f"System.Network.{name}.SendRate"] = (sent - had[1]) / seconds
        return found


_SHARES = {
    "Idle": "idle",
    "Sys": "system",
    "User": "user",
    "IOWait": "iowait",
    "Irq": "irq",
    "SoftIrq": "softirq",
    "Nice": "nice",
}


def _processors(psutil: Any) -> dict[str, float]:
    shares = psutil.cpu_times_percent()
    found = {f"System.CPU.{name}": getattr(shares, field) for name, field in _SHARES.items() if hasattr(shares, field)}
    found["System.CPU.Usage"] = round(100.0 - shares.idle, 1)
    for name, load in zip(("Load1min", "Load5min", "Load15min"), psutil.getloadavg(), strict=True):
        found[f"System.CPU.{name}"] = load
    for number, used in enumerate(psutil.cpu_percent(percpu=True)):
        found[f"System.CPU.UsageCPU{number}"] = used
    return found


def _memory(psutil: Any) -> dict[str, float]:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return {
        "System.Memory.Available": memory.available,
        "System.Memory.Total": memory.total,
        "System.Swap.Used": swap.used,
        "System.Swap.Total": swap.total,
    }
