"""What WITH says about committing partitions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from millrace.connectors.file_system.java_time import java_zone
from millrace.connectors.tables.filesystem.commits.committer import PartitionCommit
from millrace.connectors.tables.filesystem.commits.partition_time import DefaultTimeExtractor, PartitionTimeExtractor
from millrace.connectors.tables.filesystem.commits.policies import PartitionCommitPolicy, SuccessFile
from millrace.connectors.tables.filesystem.commits.triggers import AtPartitionTime, AtProcessingTime, CommitTrigger
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException

_POLICY, _CLASS = "sink.partition-commit.policy.kind", "sink.partition-commit.policy.class"
_TRIGGER, _DELAY = "sink.partition-commit.trigger", "sink.partition-commit.delay"
_ZONE = "sink.partition-commit.watermark-time-zone"
_EXTRACTOR = "partition.time-extractor"


def partition_commit(table: TableContext, options: TableOptions) -> PartitionCommit | None:
    """None: no one is told about partitions. As in Flink a table without partitions is told about in batch only.

    :raises TableException: an option is wrong.
    """
    kinds = [kind.strip().lower() for kind in (options.text(_POLICY) or "").split(",") if kind.strip()]
    policies = tuple(_policy(kind, options, table) for kind in kinds)
    trigger = _trigger(table, options)
    if not policies or (table.streaming and not table.partition_keys):
        return None
    return PartitionCommit(table.path, table.partition_keys, trigger, policies)


def _policy(kind: str, options: TableOptions, table: TableContext) -> PartitionCommitPolicy:
    if kind == "success-file":
        return SuccessFile(options.text("sink.partition-commit.success-file.name", "_SUCCESS") or "_SUCCESS")
    if kind == "custom":
        parameters = [each for each in (options.text(f"{_CLASS}.parameters") or "").split(";") if each]
        made: PartitionCommitPolicy = _instance(_CLASS, "commit", options, table, parameters)
        return made
    if kind == "metastore":
        raise TableException(
            f"table {table.summary}: there is no metastore for '{_POLICY}' = 'metastore': use 'success-file', or "
            f"'custom' with a class of yours that tells your catalog"
        )
    raise options.problem(_POLICY, "is made of success-file and custom")


def _trigger(table: TableContext, options: TableOptions) -> CommitTrigger:
    delay: int = options.millis(_DELAY, 0)
    if options.one_of(_TRIGGER, "process-time", ("process-time", "partition-time")) == "process-time":
        return AtProcessingTime(delay)
    zone = options.text(_ZONE, "UTC") or "UTC"
    try:
        found = java_zone(zone)
    except ValueError as error:
        raise options.problem(_ZONE, f"is a time zone ({error})") from None
    assert found is not None
    return AtPartitionTime(delay, table.partition_keys, _extractor(table, options), found)


def _extractor(table: TableContext, options: TableOptions) -> PartitionTimeExtractor:
    if options.one_of(f"{_EXTRACTOR}.kind", "default", ("default", "custom")) == "custom":
        made: PartitionTimeExtractor = _instance(f"{_EXTRACTOR}.class", "extract", options, table, [])
        return made
    return DefaultTimeExtractor(
        options.text(f"{_EXTRACTOR}.timestamp-pattern"), options.text(f"{_EXTRACTOR}.timestamp-formatter")
    )


def _instance(option: str, method: str, options: TableOptions, table: TableContext, parameters: list[str]) -> Any:
    """An object of the class that an option names: ``package.module.Class`` or ``package.module:Class``."""
    name = options.text(option)
    if name is None:
        raise TableException(f"table {table.summary}: 'custom' needs '{option}': the path of a class in Python")
    module, _, attribute = name.rpartition(":") if ":" in name else name.rpartition(".")
    try:
        found: Callable[..., Any] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise options.problem(option, f"is the path of a class in Python, such as my.module.Class ({error})") from None
    made = found(*parameters)
    if not callable(getattr(made, method, None)):
        raise options.problem(option, f"is a class with a method {method}()")
    return made
