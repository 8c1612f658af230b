"""How Flink divides the memory of its processes, and how much of it is the JVM's heap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millrace.common.config_values import to_bytes_count, to_double
from millrace.configuration.registry import options
from millrace.configuration.telling import ConfigurationError

__all__ = ["Sizes", "job_manager", "task_manager"]

_MB = 1 << 20


@dataclass(frozen=True)
class Sizes:
    """Bytes of a process."""

    heap: int
    total: int | None
    """with all that is not heap; None if only the heap is known"""


class _Reader:
    """Reads the sizes of one kind of process; what is not set has Flink's default."""

    def __init__(self, settings: Mapping[str, str], process: str) -> None:
        self._settings = settings
        self._process = process

    def given(self, name: str) -> int | None:
        """What is set."""
        text = self._settings.get(f"{self._process}.memory.{name}")
        return None if text is None else to_bytes_count(text)

    def size(self, name: str) -> int:
        return to_bytes_count(self._text(name))

    def share(self, name: str, whole: float) -> int:
        """A part that is a fraction of a whole, between a least and a greatest size."""
        return int(min(max(whole * self.fraction(name), self.size(f"{name}.min")), self.size(f"{name}.max")))

    def fraction(self, name: str) -> float:
        return to_double(self._text(f"{name}.fraction"))

    def share_of_rest(self, name: str, rest: int) -> int:
        """The same if only the rest of the whole is known."""
        fraction = self.fraction(name)
        return self.share(name, rest / (1 - fraction))

    def older(self) -> int | None:
        """What Flink 1 called the memory of a process without what the JVM needs beside it."""
        text = self._settings.get(f"{self._process}.heap.size")
        megabytes = self._settings.get(f"{self._process}.heap.mb")
        if text is None and megabytes is not None:
            text = f"{megabytes} mb"
        return None if text is None else to_bytes_count(text)

    def without_jvm(self, total: int) -> int:
        return total - self.size("jvm-metaspace.size") - self.share("jvm-overhead", total)

    def with_jvm(self, inner: int) -> int:
        rest = inner + self.size("jvm-metaspace.size")
        return rest + self.share_of_rest("jvm-overhead", rest)

    def whole(self) -> tuple[int, int] | None:
        """The whole process, and without what the JVM needs beside its heap."""
        if (total := self.given("process.size")) is not None:
            return total, self.without_jvm(total)
        inner = self.given("flink.size") or self.older()
        return None if inner is None else (self.with_jvm(inner), inner)

    def _text(self, name: str) -> str:
        key = f"{self._process}.memory.{name}"
        return self._settings.get(key, options()[key].fact.default)


def task_manager(settings: Mapping[str, str]) -> Sizes | None:
    """The sizes of a task manager; None if nothing is set.

    :raises ConfigurationError: parts that are larger than the whole.
    """
    read = _Reader(settings, "taskmanager")
    task_heap, managed = read.given("task.heap.size"), read.given("managed.size")
    own_heap = read.size("framework.heap.size")
    beside = read.size("framework.off-heap.size") + read.size("task.off-heap.size")
    whole = read.whole()
    if whole is None and task_heap is not None and managed is not None:
        rest = own_heap + beside + task_heap + managed
        inner = rest + read.share_of_rest("network", rest)
        whole = read.with_jvm(inner), inner
    if whole is None:
        return None if task_heap is None else Sizes(own_heap + task_heap, None)
    total, inner = whole
    if task_heap is None:
        managed = int(inner * read.fraction("managed")) if managed is None else managed
        task_heap = inner - own_heap - beside - managed - read.share("network", inner)
    return _sound(Sizes(own_heap + task_heap, total), own_heap, "taskmanager")


def job_manager(settings: Mapping[str, str]) -> Sizes | None:
    """The sizes of a job manager; None if nothing is set.

    :raises ConfigurationError: parts that are larger than the whole.
    """
    read = _Reader(settings, "jobmanager")
    heap, whole = read.given("heap.size"), read.whole()
    if whole is None:
        return None if heap is None else Sizes(heap, read.with_jvm(heap + read.size("off-heap.size")))
    total, inner = whole
    return _sound(Sizes(inner - read.size("off-heap.size") if heap is None else heap, total), 0, "jobmanager")


def _sound(sizes: Sizes, least: int, process: str) -> Sizes:
    assert sizes.total is not None
    if not least < sizes.heap <= sizes.total:
        raise ConfigurationError(
            f"{process}.memory.*: with {sizes.total // _MB} mb in all and the parts that are set, the heap would have "
            f"{sizes.heap // _MB} mb; give the process more, or its parts less"
        )
    return sizes
