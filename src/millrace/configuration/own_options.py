"""Millrace's own options: key, type, default, effect and meaning of each, in one place. The list of all keys and the
page about configuration are made of them, and values are read by them: ``EPOCH_RECORDS.read(settings)``. All other keys
are Flink's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from millrace.common.configuration import (
    ConfigOption,
    ConfigOptions,
    parsed,
    to_boolean,
    to_bytes_count,
    to_duration,
    to_int,
    to_text,
)
from millrace.common.state.storage import ROWS_MEMORY
from millrace.common.time import Duration
from millrace.configuration.rule import Fact, topic, works
from millrace.util.folders import TRUST_DIRECTORY
from millrace.util.logs import LogLimits

T = TypeVar("T")

_ENVIRONMENT = "datastream.stream_execution_environment"
_REST = "cluster.rest.settings"
_TYPES: dict[Any, str] = {
    to_boolean: "boolean",
    to_int: "int",
    to_text: "string",
    to_duration: "duration",
    to_bytes_count: "memory",
}
"""What converts values -> the name of their type in ``Fact``."""


@dataclass(frozen=True, eq=False)
class OwnOption(ConfigOption[T]):
    """An option that Flink does not have, and its rule: it works."""

    reader: str = ""
    """module that reads it, without ``millrace.``"""
    note: str = ""
    """its effect, for the page about configuration"""
    values: tuple[str, ...] = ()
    """all values; empty: those of the type"""

    def find(self, settings: Mapping[str, Any]) -> T | None:
        """The value that settings give, None without one.

        :raises ValueError: the value is not of the option's type.
        """
        value = settings.get(self.key)
        return None if value is None else parsed(self.key, value, self.convert)

    def read(self, settings: Mapping[str, Any]) -> T:
        """The value that settings give, else the default, which the option must have.

        :raises ValueError: the value is not of the option's type.
        """
        found = self.find(settings)
        return default_of(self) if found is None else found

    @property
    def fact(self) -> Fact:
        """The declaration, as those of Flink's options are."""
        type_ = f"enum:{'|'.join(self.values)}" if self.values else _TYPES[self.convert]
        return Fact(self.key, type_, default_text(self))


def _own(option: ConfigOption[T], reader: str, note: str, *values: str) -> OwnOption[T]:
    return OwnOption(option.key, option.convert, option.default, reader, note, values)


# Spark and epochs

MASTER = _own(
    ConfigOptions.key("millrace.master").string_type().no_default_value(),
    "spark.sessions.session",
    "Spark master of a session that Millrace makes",
)
"""Spark master of a session that Millrace makes: local[*], spark://..., yarn, k8s://..."""

EPOCH_INTERVAL = _own(
    ConfigOptions.key("millrace.epoch.interval-ms").int_type().default_value(100),
    _ENVIRONMENT,
    "least time between the beginnings of two epochs",
)
"""Least time between the beginnings of two epochs of an unbounded job (ms); that of checkpoints if it is less.

Unless it is set, a job with two-phase sinks has an epoch per checkpoint."""

EPOCH_RECORDS = _own(
    ConfigOptions.key("millrace.epoch.max-records").int_type().default_value(1_000_000),
    _ENVIRONMENT,
    "most records that a subtask of a source reads in an epoch",
)
"""Most records that one subtask of a source hands on in one epoch (streaming mode)."""

EPOCH_MILLIS = _own(
    ConfigOptions.key("millrace.epoch.max-duration-ms").int_type().default_value(1_000),
    _ENVIRONMENT,
    "longest time that a subtask of a source reads in an epoch, and a task works",
)
"""Longest time that one subtask of a source reads in one epoch, and that a task works on what arrives (ms, streaming
mode). What there is no time for is done in the next epoch. Bounded jobs that neither print, collect nor take
checkpoints have ten times as long unless it is set; intervals of checkpoints that are shorter count."""

EPOCH_TIMEOUT = _own(
    ConfigOptions.key("millrace.epoch.timeout").duration_type().no_default_value(),
    "spark.jobs.tasks",
    "how long a task may stand still; 10 min in streaming mode",
)
"""How long a task may stand still before its epoch is cancelled and counts as failed: it has neither begun nor ended a
piece, nor come further in one. However long an epoch takes, it is no failure. Tasks whose progress cannot be asked for,
as those of a batch job with a single epoch, stand still when Spark reports no progress. Streaming mode: ten minutes
unless it is set. Batch mode: no limit unless it is set."""
STREAMING_EPOCH_TIMEOUT_MS = 600_000

SPARK_JOBS, RESIDENT, FLOW = "spark-jobs", "resident", "flow"
EPOCH_EXECUTION = _own(
    ConfigOptions.key("millrace.epoch.execution").string_type().default_value(FLOW),
    "spark.jobs.carriers",
    "how epochs get to the tasks (streaming mode): as marks in a stream of tasks that all work at the same time, "
    "in jobs without loops; each as a job of Spark; `resident`: flow, or for loops connections to tasks that stay",
    SPARK_JOBS,
    RESIDENT,
    FLOW,
)
"""How epochs get to the tasks (streaming mode): as marks in a stream of tasks that all work at the same time (of jobs
without loops, on a Spark without dynamic allocation); or each as a job of Spark. ``resident`` is flow, and of jobs with
loops: over connections to tasks that stay at their cores."""

FLOW_PORTS = _own(
    ConfigOptions.key("millrace.flow.ports").string_type().default_value("0"),
    _ENVIRONMENT,
    "where the processes of a job in flow and its driver listen on a cluster, as `50100-50200`; 0: free ports",
)
"""Ports that the processes of a job in flow and its driver listen at, where Spark is more than one process: a port, a
range like 50100-50200, or several of these with commas between them; 0: any free port. Each process takes the first one
that is free on its machine."""

FLOW_LEASE = _own(
    ConfigOptions.key("millrace.flow.lease").duration_type().default_value(Duration.of_seconds(10)),
    _ENVIRONMENT,
    "how long the processes of a job in flow and its driver go on without a word from each other, on a cluster",
)
"""How long a driver and the processes of a job in flow go on without a word from each other, where Spark is more than
one process: a process stops its tasks after that, and the driver takes the process for lost. A function in native code
that holds Python's interpreter for longer than that looks like a lost process."""

FLOW_EPOCH_MS = 1_000
"""How long an epoch in flow takes from its first record on, unless ``millrace.epoch.interval-ms`` is set."""

# State

STATE_DIRECTORY = _own(
    ConfigOptions.key("millrace.state.directory").string_type().no_default_value(),
    "spark.jobs.submit",
    "where tasks keep their state between epochs",
)
"""Where tasks keep their state between epochs: a directory that all workers reach; default: a temporary one."""

STATE_ROWS_MEMORY = _own(
    ConfigOptions.key("millrace.state.rows.memory").memory_type().default_value(ROWS_MEMORY),
    "datastream.stream_execution_environment",
    "how many bytes of rows of SQL and interval joins a process has in memory if its state is on disk",
)
"""The bytes of rows that all tasks of a process have in memory if the state is on disk, beside those that have changed
in the epoch. The rows that were not used for the longest time leave it."""

STATE_METRICS = _own(
    ConfigOptions.key("millrace.state.metrics").boolean_type().default_value(False),
    "datastream.stream_execution_environment",
    "whether operators report metrics of each of their keyed states, and of the store of their task",
)
"""Whether there are metrics of each keyed state: entries, bytes in memory and on disk, look-ups, times of writing. They
are read once per epoch."""

STATE_TRUST_DIRECTORY = _own(
    ConfigOptions.key(TRUST_DIRECTORY).boolean_type().default_value(False),
    "spark.jobs.submit",
    "whether all who can write there may be trusted",
)
"""Whether all who can write to the directories of state, checkpoints, savepoints and caches may be trusted."""

# Tables and SQL

EVERY_CHANGE = _own(
    ConfigOptions.key("millrace.table.aggregate.every-change").boolean_type().default_value(False),
    "table.planner.engine",
    "whether aggregates, Top-N and deduplication in streaming mode show the changes of each row, as in Flink, not one "
    "for each key and slice",
)
"""Whether operators of streaming mode send the changes of each row, and not one for each key and slice."""

NEW_CALLS_BEGIN_EMPTY = _own(
    ConfigOptions.key("millrace.table.aggregate.new-begin-empty").boolean_type().default_value(False),
    "table.planner.engine",
    "whether aggregates that a query has got since its savepoint begin with nothing, and the others go on; else "
    "such a query is refused",
)
"""Whether aggregates that are new in a query since its savepoint begin with nothing, and the others go on."""

MATCH_SEMANTICS = _own(
    ConfigOptions.key("millrace.match-recognize.semantics").string_type().default_value("flink"),
    "table.sessions.session",
    "what MATCH_RECOGNIZE means: see its guide",
    "flink",
    "standard",
)
"""What MATCH_RECOGNIZE means: ``flink`` or ``standard``."""

SQL_OUTPUT = _own(
    ConfigOptions.key("millrace.sql.output").string_type().default_value("screen"),
    "cli.sql.results",
    "how the SQL client writes rows: for people, CSV, JSON, Arrow",
    "screen",
    "csv",
    "json",
    "arrow",
)
"""How the SQL client writes rows."""

SQL_READS_FILES = _own(
    ConfigOptions.key("millrace.sql.read-files").boolean_type().default_value(False),
    "table.sessions.table_info",
    "whether SQL at a gateway may name files (`FROM '/data/x.csv'`) and leave out the columns of tables",
)
"""Whether SQL that comes to a gateway may look into files by their path."""

# Output and logs

OUTPUT_LEVEL = _own(
    ConfigOptions.key("millrace.output.level").string_type().default_value("INFO"),
    "spark.workers.shipping",
    "from which level on what functions log is kept and shown",
    "DEBUG",
    "INFO",
    "WARNING",
    "ERROR",
    "CRITICAL",
)
"""The level from which on records of functions' logs are kept and shown."""

OUTPUT_LINES = _own(
    ConfigOptions.key("millrace.output.lines-per-second").int_type().default_value(100),
    "spark.workers.shipping",
    "how much of what functions print and log is shown where the program runs, of each subtask; 0: nothing",
)
"""How many lines a second of each subtask of an operator reach the driver."""

LOG_FILE_BYTES = _own(
    ConfigOptions.key("millrace.log.max-file-size").memory_type().default_value(LogLimits.file_bytes),
    "configuration.files",
    "from which size on a log begins again",
)
"""The size, in bytes, from which on a log begins again."""

# REST API

ALLOWED_HOSTS = _own(
    ConfigOptions.key("rest.allowed-hosts").string_type().no_default_value(),
    _REST,
    "further names under which the REST API is called",
)
"""Further names under which the REST API is called, with commas between them."""

CERTIFICATE = _own(
    ConfigOptions.key("security.rest.certificate").string_type().no_default_value(),
    _REST,
    "files (PEM) for TLS of the REST API",
)
"""File with the certificates of the REST API, in PEM."""

PRIVATE_KEY = _own(
    ConfigOptions.key("security.rest.private-key").string_type().no_default_value(),
    _REST,
    "files (PEM) for TLS of the REST API",
)
"""File with the private key of the REST API, in PEM."""

AUTH = _own(
    ConfigOptions.key("security.rest.auth").string_type().default_value("token"),
    "cluster",
    "`token`, or `none` for a server that listens on loopback only",
    "TOKEN",
    "NONE",
)
"""Whether callers show a token: ``token`` or ``none``."""

PROTECT_READS = _own(
    ConfigOptions.key("security.rest.protect-reads").boolean_type().no_default_value(),
    _REST,
    "whether looking needs the token, too; true beyond loopback",
)
"""Whether reading needs the token, too; unless it is set, true where other machines reach the server."""

YARN_CANCEL = _own(
    ConfigOptions.key("security.rest.yarn-cancel").boolean_type().default_value(False),
    _REST,
    "whether a GET of /jobs/ID/yarn-cancel cancels a job, as old scripts do",
)
"""Whether a GET of /jobs/ID/yarn-cancel cancels a job."""

# As facts and rules beside those of Flink

_MIB = 1 << 20


def default_of(option: ConfigOption[T]) -> T:
    """The default of an option that has one."""
    assert option.default is not None, f"{option.key} has no default"
    return option.default


def default_text(option: ConfigOption[Any]) -> str:
    """The default of an option as a configuration says it; empty for none."""
    default = option.default
    if default is None:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, Duration):
        return f"{default.to_millis() / 1000:g} s"
    return f"{default // _MIB} mb" if option.convert is to_bytes_count else str(default)


OWN_OPTIONS = tuple(each for each in tuple(globals().values()) if isinstance(each, OwnOption))
OWN_FACTS = tuple(option.fact for option in OWN_OPTIONS)
OWN = topic("Millrace's own", *(works(option.key, option.reader, option.note) for option in OWN_OPTIONS))
