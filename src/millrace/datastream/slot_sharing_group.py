"""Slot sharing groups: the resources of operators that share slots."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import total_ordering

__all__ = ["MemorySize", "SlotSharingGroup"]

_UNITS = ((1024**4, "tb"), (1024**3, "gb"), (1024**2, "mb"), (1024, "kb"))


@total_ordering
class MemorySize:
    """A number of bytes. Immutable, ordered, hashable.

        >>> MemorySize.of_mebi_bytes(64).get_bytes()
        67108864

    :param bytes_size: the number, zero or more.
    :raises ValueError: a negative number.
    """

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int) -> None:
        if bytes_size < 0:
            raise ValueError("bytes must be >= 0")
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """A size in MiB."""
        return MemorySize(bytes_size=mebi_bytes * 1024**2)

    def get_bytes(self) -> int:
        """The size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """The whole KiB of the size, rounded down."""
        return self._bytes // 1024

    def get_mebi_bytes(self) -> int:
        """The whole MiB of the size, rounded down."""
        return self._bytes // 1024**2

    def get_gibi_bytes(self) -> int:
        """The whole GiB of the size, rounded down."""
        return self._bytes // 1024**3

    def get_tebi_bytes(self) -> int:
        """The whole TiB of the size, rounded down."""
        return self._bytes // 1024**4

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):
            return NotImplemented
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        """The size in the largest unit that gives a whole number, in the notation of Flink's configuration."""
        for unit, name in _UNITS:
            if self._bytes and self._bytes % unit == 0:
                return f"{self._bytes // unit} {name}"
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize(bytes_size={self._bytes})"


@dataclass(frozen=True)
class SlotSharingGroup:
    """Name and resources of a slot sharing group; made by ``SlotSharingGroup.builder(name)``.

    Resources are None when none were specified. Spark assigns the resources of tasks: they are recorded, not enforced.

        >>> group = SlotSharingGroup.builder("heavy").set_cpu_cores(2.0).set_task_heap_memory_mb(512).build()
        >>> group.get_name(), group.get_cpu_cores()
        ('heavy', 2.0)
    """

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: tuple[tuple[str, float], ...] = ()

    def get_name(self) -> str:
        """The group's name."""
        return self.name

    def get_managed_memory(self) -> MemorySize | None:
        """Managed memory of a task."""
        return self.managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        """Heap memory of a task."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Off-heap memory of a task."""
        return self.task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        """Cores of a task."""
        return self.cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """Amounts of further resources (GPUs ...) by name."""
        return dict(self.external_resources)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Start a group of this name.

        :raises TypeError: ``name`` is no string.
        """
        if not isinstance(name, str):
            raise TypeError(f"The name of a slot sharing group must be a string, not {type(name).__name__}")
        return SlotSharingGroup.Builder(name)

    @dataclass
    class Builder:
        """Collects the resources of a group. Setting any of them requires cores and task heap memory."""

        _name: str
        _cpu_cores: float | None = None
        _task_heap: MemorySize | None = None
        _task_off_heap: MemorySize | None = None
        _managed: MemorySize | None = None
        _external: dict[str, float] = field(default_factory=dict)

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Cores of a task; ValueError unless positive."""
            if cpu_cores <= 0:
                raise ValueError("The cpu cores should be positive.")
            self._cpu_cores = cpu_cores
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Heap memory of a task; ValueError unless positive."""
            if task_heap_memory.get_bytes() <= 0:
                raise ValueError("The task heap memory should be positive.")
            self._task_heap = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Heap memory of a task in MiB; ValueError unless positive."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Off-heap memory of a task."""
            self._task_off_heap = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Off-heap memory of a task in MiB."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Managed memory of a task."""
            self._managed = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Managed memory of a task in MiB."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Amount of a further resource; ValueError if negative."""
            if value < 0:
                raise ValueError(f"The amount of the external resource {name!r} should not be negative.")
            self._external[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """The group.

            :raises ValueError: resources were given without cores or task heap memory.
            """
            given = (self._cpu_cores, self._task_heap, self._task_off_heap, self._managed, self._external or None)
            if all(value is None for value in given):
                return SlotSharingGroup(self._name)
            if self._cpu_cores is None or self._task_heap is None:
                raise ValueError(
                    "The cpu cores and task heap memory are required when specifying the resource of a slot sharing "
                    "group. You need to explicitly configure them with positive value."
                )
            none = MemorySize(bytes_size=0)
            return SlotSharingGroup(
                self._name,
                self._cpu_cores,
                self._task_heap,
                self._task_off_heap or none,
                self._managed or none,
                tuple(sorted(self._external.items())),
            )
