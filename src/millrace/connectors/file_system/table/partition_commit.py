"""Committing files and partitions of a table: when a partition counts as complete, and what is done then.

``PartitionTimeExtractor`` and ``PartitionCommitPolicy`` are for classes of the user's own. ``TableCommitter`` makes
files visible and calls the policies; with INSERT OVERWRITE the old files go once the new ones are visible. The options
are ``sink.partition-commit.*`` and ``partition.time-extractor.*``.
"""

from __future__ import annotations

import datetime as dt
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from pyarrow import fs

from millrace.common.files.file_systems import Location
from millrace.common.sink import Committer
from millrace.connectors.file_system.file_committer import Compaction, FileCommitter, SizedFile
from millrace.connectors.file_system.file_listing import list_files
from millrace.connectors.file_system.file_writer import WriterState
from millrace.connectors.file_system.part_files import PendingFile, discard_file
from millrace.connectors.file_system.part_policies import java_zone
from millrace.connectors.file_system.table.table_layout import texts_of
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational.functions.time_parsing import strict_parser
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException

__all__ = ["PartitionCommitContext", "PartitionCommitPolicy", "PartitionTimeExtractor"]


# The time of a partition

_TIMESTAMP = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?)?")


class PartitionTimeExtractor(ABC):
    """Tells a partition's time; subclass it for ``'partition.time-extractor.kind' = 'custom'``."""

    @abstractmethod
    def extract(self, partition_keys: Sequence[str], partition_values: Sequence[str]) -> dt.datetime:
        """The time, without zone, of the partition with these values, as they stand in its path."""


@dataclass(frozen=True)
class DefaultTimeExtractor(PartitionTimeExtractor):
    """By a pattern such as ``$dt $hour:00:00``; without one the first value is the time."""

    pattern: str | None = None
    formatter: str | None = None
    """a pattern of Java's ``DateTimeFormatter``; None: ``yyyy-MM-dd HH:mm:ss``, or without the time of day"""

    def extract(self, partition_keys: Sequence[str], partition_values: Sequence[str]) -> dt.datetime:
        """:raises ValueError: the values make no time."""
        text = partition_values[0] if self.pattern is None else self.pattern
        if self.pattern is not None:
            # As in Flink: one key after the other, also where a name is the beginning of another one.
            for key, value in zip(partition_keys, partition_values):
                text = text.replace(f"${key}", value)
        if self.formatter is not None:
            found = strict_parser(self.formatter)(text)
            if found is None:
                raise ValueError(f"'{text}' is no time of the form {self.formatter}")
            return found
        match = _TIMESTAMP.fullmatch(text)
        if match is None:
            spec = ", ".join(f"{key}={value}" for key, value in zip(partition_keys, partition_values))
            raise ValueError(
                f"'{text}' is no time of the form yyyy-MM-dd HH:mm:ss (partition {spec}): set "
                f"'partition.time-extractor.timestamp-pattern'"
            )
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        micros = int((match[7] or "").ljust(6, "0")[:6])
        # Hour 24 is the next day, the 31st of a short month the first of the next one.
        start = dt.datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
        return start + dt.timedelta(day - 1, second, micros, minutes=minute, hours=hour)


# What is done


@dataclass(frozen=True)
class PartitionCommitContext:
    """The partition that is complete."""

    table: tuple[str, str, str]
    keys: tuple[str, ...]
    values: tuple[str, ...]
    """the partition's values, as the path has them"""
    location: Location
    """location of the partition's folder"""

    def catalog_name(self) -> str:
        return self.table[0]

    def database_name(self) -> str:
        return self.table[1]

    def table_name(self) -> str:
        return self.table[2]

    def partition_keys(self) -> Sequence[str]:
        return self.keys

    def partition_values(self) -> Sequence[str]:
        return self.values

    def partition_path(self) -> str:
        """The folder, inside its file system."""
        return self.location.path

    def partition_spec(self) -> Mapping[str, str]:
        return dict(zip(self.keys, self.values))


class PartitionCommitPolicy(ABC):
    """Tells others that a partition is complete; subclass it for ``'sink.partition-commit.policy.kind' = 'custom'``.

    Runs in the driver. A partition may be committed again: when more rows came after it was complete, and after a
    failure. So it must be idempotent.
    """

    @abstractmethod
    def commit(self, context: PartitionCommitContext) -> None: ...


@dataclass(frozen=True)
class SuccessFile(PartitionCommitPolicy):
    """An empty file of that name in the partition's folder."""

    name: str = "_SUCCESS"

    def commit(self, context: PartitionCommitContext) -> None:
        location = context.location
        location.file_system().open_output_stream(f"{location.path.rstrip('/')}/{self.name}").close()


# When it is done

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


class CommitTrigger(ABC):
    """Pickled into the tasks: writers finish their part files of a partition before it is complete."""

    @abstractmethod
    def is_due(self, folder: str, created: int, watermark: int, now: int) -> bool:
        """Whether a partition may be committed.

        :param created: when the first row came that is not committed (ms).
        :param watermark: ms.
        :param now: the clock, ms.
        """


@dataclass(frozen=True)
class AtProcessingTime(CommitTrigger):
    """So long after the first row; without delay with the next checkpoint."""

    delay: int

    def is_due(self, folder: str, created: int, watermark: int, now: int) -> bool:
        return not self.delay or now > created + self.delay


@dataclass(frozen=True)
class AtPartitionTime(CommitTrigger):
    """When the watermark has passed the time in the partition's name, and the delay."""

    delay: int
    keys: tuple[str, ...]
    extractor: PartitionTimeExtractor
    zone: dt.tzinfo
    """time zone of the times in partitions' names"""

    def is_due(self, folder: str, created: int, watermark: int, now: int) -> bool:
        texts = texts_of(folder)
        local = self.extractor.extract(self.keys, [texts[key] for key in self.keys])
        begins = (local.replace(tzinfo=self.zone) - _EPOCH) // dt.timedelta(milliseconds=1)
        return watermark > begins + self.delay


# The committer, on the driver


@dataclass(frozen=True)
class Written:
    """What one writer did in one epoch."""

    epoch: int
    subtasks: int
    """number of the sink's subtasks"""
    now: int
    """the writer's clock at the end of the epoch, ms"""
    watermark: int
    idle: bool
    ended: bool
    """whether the writer's input has ended"""
    files: tuple[PendingFile, ...]
    sizes: tuple[int, ...]
    """bytes of each file; empty if they are not shown"""
    folders: tuple[str, ...]
    """the partitions that got rows, or whose files are finished now"""


@dataclass(frozen=True)
class Waiting:
    """Partitions that are not complete yet, with the time of their first row (ms)."""

    created: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class PartitionCommit:
    """When and how partitions are committed."""

    table: tuple[str, str, str]
    keys: tuple[str, ...]
    trigger: CommitTrigger
    policies: tuple[PartitionCommitPolicy, ...]

    def commit(self, folder: str, base: Location) -> None:
        """Tell that a partition is complete."""
        texts = texts_of(folder)
        path = f"{base.path.rstrip('/')}/{folder}" if folder else base.path
        context = PartitionCommitContext(
            self.table, self.keys, tuple(texts[key] for key in self.keys), Location(base.root, path)
        )
        for policy in self.policies:
            policy.commit(context)


@dataclass
class TableCommitter(Committer[Any]):
    """Renames hidden files; with ``compaction`` those of an epoch and a folder become fewer. Then partitions that are
    due are committed; the others wait among what is to be committed, so checkpoints and savepoints keep them."""

    base: Location
    uid: str
    partitions: PartitionCommit | None = None
    compaction: Compaction | None = None
    _files: FileCommitter = field(init=False)

    def __post_init__(self) -> None:
        self._files = FileCommitter(self.base, self.uid)

    def commit(self, committables: Sequence[Any]) -> Sequence[Any] | None:
        written = [each for each in committables if isinstance(each, Written)]
        self.show(written, [each for each in committables if isinstance(each, PendingFile)])
        return None if self.partitions is None else self._commit_partitions(committables, written)

    def show(self, written: Sequence[Written], files: Sequence[PendingFile]) -> None:
        """Make files visible. All files of an epoch are there."""
        if self.compaction is None:
            self._files.commit([*files, *(file for each in written for file in each.files)])
            return
        by_epoch: dict[int, list[SizedFile]] = {}
        for each in written:
            by_epoch.setdefault(each.epoch, []).extend(zip(each.files, each.sizes, strict=True))
        for _, group in sorted(by_epoch.items()):
            self.compaction.commit(group, self._files)

    def _commit_partitions(self, committables: Sequence[Any], written: Sequence[Written]) -> list[Any]:
        assert self.partitions is not None
        created: dict[str, int] = {}
        for each in committables:
            if isinstance(each, Waiting):
                created.update(each.created)
        for report in sorted(written, key=lambda report: report.now):
            for folder in report.folders:
                created.setdefault(folder, report.now)
        newest = max((report.epoch for report in written), default=None)
        last = [report for report in written if report.epoch == newest]
        # In batch mode subtasks without rows say nothing.
        if last and (len(last) >= last[0].subtasks or all(report.ended for report in last)):
            for folder in [each for each in created if self._is_due(each, created[each], last)]:
                self.partitions.commit(folder, self.base)
                del created[folder]
        return [Waiting(tuple(created.items()))] if created else []

    def _is_due(self, folder: str, created: int, last: Sequence[Written]) -> bool:
        assert self.partitions is not None
        if all(report.ended for report in last):
            return True
        # Idle writers do not hold the watermark back; if all are idle, the greatest watermark counts.
        active = [report.watermark for report in last if not report.idle]
        watermark = min(active) if active else max(report.watermark for report in last)
        return self.partitions.trigger.is_due(folder, created, watermark, max(report.now for report in last))

    def abort(self, committables: Sequence[Any]) -> None:
        self._files.abort(files_of(committables))

    def recover(self, job_id: str, committables: Sequence[Any], states: Sequence[WriterState]) -> None:
        self._files.recover(job_id, files_of(committables), states)

    def sweep(self, job_id: str, epoch: int, committables: Sequence[Any], states: Sequence[WriterState]) -> None:
        self._files.sweep(job_id, epoch, files_of(committables), states)

    def close(self) -> None:
        self._files.close()


def files_of(committables: Sequence[Any]) -> list[PendingFile]:
    """All hidden files."""
    found = [each for each in committables if isinstance(each, PendingFile)]
    return found + [file for each in committables if isinstance(each, Written) for file in each.files]


# INSERT OVERWRITE


@dataclass(frozen=True)
class Replaced:
    """What a query replaces."""

    folders: tuple[str, ...] | None
    """folders below the table's path, "" for the whole table; None: the partitions for which the query gives rows"""
    success_file: str
    """name of the file that says that a partition is complete"""
    files: tuple[str, ...] | None = None
    """the files that the new files were made of: if the table has other files by now, nothing is replaced"""


@dataclass
class OverwritingCommitter(TableCommitter):
    """First the new files are made visible, then the old ones are deleted: at no time, and after no failure, are there
    fewer rows than before or after."""

    replaced: Replaced = Replaced(None, "")

    def show(self, written: Sequence[Written], files: Sequence[PendingFile]) -> None:
        folders = self._folders([*files, *files_of(written)])
        file_system = self.base.file_system()
        old = [path for folder in folders for path in visible_files(Location(self.base.root, folder))]
        made_of = self.replaced.files
        if made_of is not None and sorted(old) != sorted(made_of):
            raise RuntimeError(
                f"{self.base.path}: files came or went while the table was written anew; nothing was changed: run the "
                f"statement again"
            )
        for folder in folders:
            discard_file(file_system, f"{folder}/{self.replaced.success_file}")
        super().show(written, files)
        for path in old:
            discard_file(file_system, path)

    def _folders(self, files: Sequence[PendingFile]) -> list[str]:
        base = self.base.path.rstrip("/")
        if self.replaced.folders is not None:
            return [f"{base}/{folder}" if folder else base for folder in self.replaced.folders]
        return list(dict.fromkeys(file.target.rpartition("/")[0] for file in files))


def visible_files(folder: Location) -> Iterator[str]:
    """Paths of the files in a folder and those below it that readers see."""
    info = folder.file_system().get_file_info(folder.path)
    if info.type is not fs.FileType.Directory:
        return
    uri = folder.path
    if folder.root:
        uri = f"{folder.root.partition('://')[0]}://{folder.path}"
    for file in list_files(uri):
        yield file.path


# Options

_POLICY, _CLASS = "sink.partition-commit.policy.kind", "sink.partition-commit.policy.class"
_TRIGGER, _DELAY = "sink.partition-commit.trigger", "sink.partition-commit.delay"
_ZONE = "sink.partition-commit.watermark-time-zone"
_EXTRACTOR = "partition.time-extractor"


def partition_commit(table: TableContext, options: TableOptions) -> PartitionCommit | None:
    """None: no one is told about partitions. As in Flink a table without partitions is told about in batch only.

    :raises TableException: an option is wrong.
    """
    kinds = [kind.strip().lower() for kind in (options.text(_POLICY) or "").split(",") if kind.strip()]
    policies = tuple(_commit_policy(kind, options, table) for kind in kinds)
    trigger = _commit_trigger(table, options)
    if not policies or (table.streaming and not table.partition_keys):
        return None
    return PartitionCommit(table.path, table.partition_keys, trigger, policies)


def _commit_policy(kind: str, options: TableOptions, table: TableContext) -> PartitionCommitPolicy:
    if kind == "success-file":
        return SuccessFile(options.text("sink.partition-commit.success-file.name", "_SUCCESS") or "_SUCCESS")
    if kind == "custom":
        parameters = [each for each in (options.text(f"{_CLASS}.parameters") or "").split(";") if each]
        made: PartitionCommitPolicy = _instance_of_class(_CLASS, "commit", options, table, parameters)
        return made
    if kind == "metastore":
        raise TableException(
            f"table {table.summary}: there is no metastore for '{_POLICY}' = 'metastore': use 'success-file', or "
            f"'custom' with a class of yours that tells your catalog"
        )
    raise options.problem(_POLICY, "is made of success-file and custom")


def _commit_trigger(table: TableContext, options: TableOptions) -> CommitTrigger:
    delay: int = options.millis(_DELAY, 0)
    if options.one_of(_TRIGGER, "process-time", ("process-time", "partition-time")) == "process-time":
        return AtProcessingTime(delay)
    zone = options.text(_ZONE, "UTC") or "UTC"
    try:
        found = java_zone(zone)
    except ValueError as error:
        raise options.problem(_ZONE, f"is a time zone ({error})") from None
    assert found is not None
    return AtPartitionTime(delay, table.partition_keys, _time_extractor(table, options), found)


def _time_extractor(table: TableContext, options: TableOptions) -> PartitionTimeExtractor:
    if options.one_of(f"{_EXTRACTOR}.kind", "default", ("default", "custom")) == "custom":
        made: PartitionTimeExtractor = _instance_of_class(f"{_EXTRACTOR}.class", "extract", options, table, [])
        return made
    return DefaultTimeExtractor(
        options.text(f"{_EXTRACTOR}.timestamp-pattern"), options.text(f"{_EXTRACTOR}.timestamp-formatter")
    )


def _instance_of_class(
    option: str, method: str, options: TableOptions, table: TableContext, parameters: list[str]
) -> Any:
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
