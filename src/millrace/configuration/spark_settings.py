"""Translates Flink's settings to those of a Spark that Millrace starts; Spark's own keys override them. Flink divides
the memory of its processes into parts, of which one is the JVM's heap."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from millrace.common.configuration import split_list, to_bytes_count, to_double, to_duration, to_int, to_map
from millrace.configuration.registry import ConfigurationError, Option, options
from millrace.configuration.rule import Effect

# Memory

_MB = 1 << 20


@dataclass(frozen=True)
class Sizes:
    """The memory of a process in bytes."""

    heap: int
    total: int | None
    """bytes of the whole process, heap included; None if only the heap is known"""


class _Reader:
    """Reads the memory sizes of one kind of process (bytes); sizes that are not set have Flink's defaults."""

    def __init__(self, settings: Mapping[str, str], process: str) -> None:
        self._settings = settings
        self._process = process

    def given(self, name: str) -> int | None:
        """A size that is set; None if it is not."""
        text = self._settings.get(f"{self._process}.memory.{name}")
        return None if text is None else to_bytes_count(text)

    def size(self, name: str) -> int:
        return to_bytes_count(self._text(name))

    def share(self, name: str, whole: float) -> int:
        """A size that is a fraction of a whole, limited by its smallest and largest size."""
        return int(min(max(whole * self.fraction(name), self.size(f"{name}.min")), self.size(f"{name}.max")))

    def fraction(self, name: str) -> float:
        return to_double(self._text(f"{name}.fraction"))

    def share_of_rest(self, name: str, rest: int) -> int:
        """A share of the whole (bytes), computed from the rest: the whole minus that share."""
        fraction = self.fraction(name)
        return self.share(name, rest / (1 - fraction))

    def older(self) -> int | None:
        """The process's memory without the JVM's own needs, from Flink 1's key for the heap."""
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
        """The memory of the whole process, and without the JVM's own needs beside its heap."""
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


# Settings of Spark

Settings = Mapping[str, str]
Pairs = Iterator[tuple[str, str]]

LEAST_HEAP = 480 << 20
"""Smallest heap (bytes): Spark refuses to start with less than 450 MB, and a JVM with a simple collector reports a
thirtieth less than it has."""
LOCAL_HEAP = 768 << 20
"""Smallest heap of the single JVM of a local master (bytes)."""


@dataclass(frozen=True)
class Target:
    """The Spark that is to be started."""

    master: str
    parallelism: int = 1

    @property
    def local(self) -> bool:
        """Whether driver and executors are one process."""
        return self.master.startswith("local") and not self.master.startswith("local-cluster")

    @property
    def yarn(self) -> bool:
        return self.master.startswith("yarn")

    @property
    def kubernetes(self) -> bool:
        return self.master.startswith("k8s")


def spark_settings(settings: Settings, target: Target) -> dict[str, str]:
    """Spark's settings, without those that belong on the JVM's command line."""
    found: dict[str, str] = {}
    for key, value in settings.items():
        option = options().get(key)
        if option is not None and _has_one_meaning(option, value) and _concerns(key, target):
            found.update(_meant(option, value))
    for part in (_with_prefixes, _memory, _cores, _yarn, _kubernetes):
        found.update(part(settings, target))
    return found


def _has_one_meaning(option: Option, value: str) -> bool:
    return option.rule.effect is Effect.MAPPED and not option.rule.computed and not option.is_as_here(value)


def _concerns(key: str, target: Target) -> bool:
    if key.startswith("yarn."):
        return target.yarn
    if key.startswith("kubernetes."):
        return target.kubernetes
    # A single process has no traffic to encrypt.
    return not (key.startswith("security.ssl.") and target.local)


def _meant(option: Option, value: str) -> Pairs:
    for name in option.rule.spark:
        prefix, _, part = name.rpartition(".")
        if part == "<key>":
            yield from ((f"{prefix}.{key}", each) for key, each in to_map(value).items())
        else:
            yield name, _as_text(option.fact.type, value)


def _as_text(type_: str, value: str) -> str:
    if type_.startswith("list:"):
        return ",".join(split_list(value))
    if type_ == "duration":
        return f"{to_duration(value).to_millis()}ms"
    if type_ == "memory":
        return f"{to_bytes_count(value)}b"
    return value.strip().lower() if type_ == "boolean" else value


def _with_prefixes(settings: Settings, target: Target) -> Pairs:
    prefixes = {"flink.hadoop.": "spark.hadoop.", "flink.yarn.": "spark.hadoop.yarn."}
    prefixes["containerized.taskmanager.env."] = "spark.executorEnv."
    if target.yarn:
        prefixes["containerized.master.env."] = "spark.yarn.appMasterEnv."
    if target.kubernetes:
        prefixes["containerized.master.env."] = "spark.kubernetes.driverEnv."
    for key, value in settings.items():
        for prefix, meant in prefixes.items():
            if key.startswith(prefix):
                yield meant + key.removeprefix(prefix), value


def _memory(settings: Settings, target: Target) -> Pairs:
    """The memory settings: executors get a task manager's sizes, the driver those of the job manager. In one process
    they add up."""
    jobs, tasks = job_manager(settings), task_manager(settings)
    if target.local:
        heaps = [sizes.heap for sizes in (jobs, tasks) if sizes is not None]
        if heaps:
            yield "spark.driver.memory", _megabytes(max(sum(heaps), LOCAL_HEAP))
        return
    yield from _of_process("spark.driver", jobs)
    yield from _of_process("spark.executor", tasks)


def _of_process(prefix: str, sizes: Sizes | None) -> Pairs:
    if sizes is not None:
        heap = max(sizes.heap, LEAST_HEAP)
        yield f"{prefix}.memory", _megabytes(heap)
        if sizes.total is not None and sizes.total > heap:
            yield f"{prefix}.memoryOverhead", _megabytes(sizes.total - heap)


def _megabytes(size: int) -> str:
    return f"{size >> 20}m"


def _cores(settings: Settings, target: Target) -> Pairs:
    slots = settings.get("taskmanager.numberOfTaskSlots")
    if slots is None or target.local:
        return
    if to_int(settings.get("yarn.containers.vcores", "-1")) < 1 or not target.yarn:
        yield "spark.executor.cores", slots
    dynamic = settings.get("spark.dynamicAllocation.enabled", "false").lower() == "true"
    if (target.yarn or target.kubernetes) and not dynamic:
        yield "spark.executor.instances", str(math.ceil(max(target.parallelism, 1) / max(to_int(slots), 1)))


def _yarn(settings: Settings, target: Target) -> Pairs:
    seconds = settings.get("yarn.heartbeat.interval")
    if target.yarn and seconds is not None:
        yield "spark.yarn.scheduler.heartbeat.interval-ms", str(to_int(seconds) * 1000)


def _kubernetes(settings: Settings, target: Target) -> Pairs:
    if not target.kubernetes:
        return
    for process, part, fallback in (("jobmanager", "driver", "1.0"), ("taskmanager", "executor", "")):
        factor = settings.get(f"kubernetes.{process}.cpu.limit-factor")
        slots = settings.get("taskmanager.numberOfTaskSlots", "1")
        amount = to_double(settings.get(f"kubernetes.{process}.cpu.amount", fallback or slots))
        if factor is not None:
            cores = (amount if amount > 0 else to_double(slots)) * to_double(factor)
            yield f"spark.kubernetes.{part}.limit.cores", f"{cores:g}"
    for entry in split_list(settings.get("kubernetes.env.secretKeyRef", "")):
        secret = to_map(entry)
        for part in ("driver", "executor"):
            yield f"spark.kubernetes.{part}.secretKeyRef.{secret['env']}", f"{secret['secret']}:{secret['key']}"


def java_options(settings: Settings, target: Target) -> tuple[str, str]:
    """Options for the JVM of the driver, and of executors."""
    both, driver, executor = (
        settings.get(f"env.java.opts.{name}", "").strip() for name in ("all", "jobmanager", "taskmanager")
    )
    on_driver = [both, driver, *([executor] if target.local else [])]
    return " ".join(filter(None, on_driver)), " ".join(filter(None, [both, executor]))


def chooses_collector(java: str) -> bool:
    """Whether options for a JVM name a garbage collector: two of them are an error."""
    return re.search(r"-XX:\+Use\w+GC\b", java) is not None


def environment(settings: Settings, present: Mapping[str, str]) -> dict[str, str]:
    """Environment variables for Spark's start; Hadoop's variables that are set already take precedence, as in Flink."""
    found = {"JAVA_HOME": settings.get("env.java.home", "")}
    for variable, key in (("HADOOP_CONF_DIR", "env.hadoop.conf.dir"), ("YARN_CONF_DIR", "env.yarn.conf.dir")):
        found[variable] = "" if present.get(variable) else settings.get(key, "")
    return {variable: value for variable, value in found.items() if value}


def jars(settings: Settings) -> list[str]:
    """Jars that programs need, as paths or URIs."""
    return [jar for key in ("pipeline.jars", "pipeline.classpaths") for jar in split_list(settings.get(key, ""))]
