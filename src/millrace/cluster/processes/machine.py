"""Memory and processors of this machine, by the names of Flink's ``metrics.system-resource``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from millrace.cluster.documents.numbers import MetricDocument

SYSTEM_RESOURCES = "metrics.system-resource"
_MEMORY = {
    "MemTotal": "System.Memory.Total",
    "MemAvailable": "System.Memory.Available",
    "SwapTotal": "System.Swap.Total",
}
_PARTS = ("User", "Nice", "Sys", "Idle", "IOWait", "Irq", "SoftIrq")
_BUSY = "System.CPU.Usage"


class Machine:
    """What the machine has, and how busy its processors were between two looks."""

    def __init__(self, memory: str = "/proc/meminfo", processors: str = "/proc/stat") -> None:
        self._memory = memory
        self._processors = processors
        self._before: tuple[int, ...] | None = None

    def metrics(self) -> tuple[MetricDocument, ...]:
        """As gauges; nothing where the system does not tell."""
        found: dict[str, float] = {}
        try:
            found |= _of_memory(self._memory) | self._of_processors()
            loads = os.getloadavg()
            found |= {f"System.CPU.Load{minutes}min": load for minutes, load in zip((1, 5, 15), loads, strict=True)}
        except (OSError, ValueError):
            return ()  # no Linux
        return tuple(MetricDocument(name, value, "gauge") for name, value in found.items())

    def _of_processors(self) -> dict[str, float]:
        """Shares since the look before, in percent."""
        with open(self._processors) as file:
            ticks = tuple(map(int, file.readline().split()[1:]))
        before, self._before = self._before, ticks
        if before is None or sum(ticks) <= sum(before):
            return {}
        spent = [max(now - then, 0) for now, then in zip(ticks, before, strict=True)]
        shares = [100 * each / max(sum(spent), 1) for each in spent]
        found = {f"System.CPU.{name}": share for name, share in zip(_PARTS, shares, strict=False)}
        return {**found, _BUSY: 100 - found["System.CPU.Idle"] - found["System.CPU.IOWait"]}


def _of_memory(path: str) -> dict[str, float]:
    with open(path) as file:
        sizes = {line.partition(":")[0]: 1024 * int(line.split()[1]) for line in file if len(line.split()) > 1}
    found: dict[str, float] = {name: sizes[key] for key, name in _MEMORY.items()}
    return {**found, "System.Swap.Used": sizes["SwapTotal"] - sizes["SwapFree"]}


def wants_machine(configuration: Mapping[str, str]) -> bool:
    """Whether machines are measured."""
    return configuration.get(SYSTEM_RESOURCES, "false").strip().lower() == "true"
