"""Millrace's own options: key, type, default and meaning of each, in one place. The list of all keys and the page about
configuration are made of them, and what reads a key takes its default from here. All other keys are Flink's.
"""

from __future__ import annotations

from typing import Any, TypeVar

from millrace.common import config_values
from millrace.common.config_options import ConfigOption, ConfigOptions
from millrace.configuration.rule import Fact
from millrace.util.folders import TRUST_DIRECTORY
from millrace.util.logs import LogLimits

T = TypeVar("T")

# Spark and epochs

MASTER = ConfigOptions.key("millrace.master").string_type().no_default_value()
"""Spark master of a session that Millrace makes: local[*], spark://..., yarn, k8s://..."""

EPOCH_INTERVAL = ConfigOptions.key("millrace.epoch.interval-ms").int_type().default_value(100)
"""Least time between the beginnings of two epochs of an unbounded job (ms); that of checkpoints if it is less.

Unless it is set, a job with two-phase sinks has an epoch per checkpoint."""

EPOCH_RECORDS = ConfigOptions.key("millrace.epoch.max-records").int_type().default_value(1_000_000)
"""Most records that one subtask of a source hands on in one epoch (streaming mode)."""

EPOCH_MILLIS = ConfigOptions.key("millrace.epoch.max-duration-ms").int_type().default_value(1_000)
"""Longest time that one subtask of a source reads in one epoch, and that a task works on what arrives (ms, streaming
mode). What there is no time for is done in the next epoch. Bounded jobs that neither print, collect nor take
checkpoints have ten times as long unless it is set; intervals of checkpoints that are shorter count."""

EPOCH_TIMEOUT = ConfigOptions.key("millrace.epoch.timeout").duration_type().no_default_value()
"""How long a task may stand still before its epoch is cancelled and counts as failed: it has neither begun nor ended a
piece, nor come further in one. However long an epoch takes, it is no failure. Tasks whose progress cannot be asked for,
as those of a batch job with a single epoch, stand still when Spark reports no progress. Streaming mode: ten minutes
unless it is set. Batch mode: no limit unless it is set."""
STREAMING_EPOCH_TIMEOUT_MS = 600_000

SPARK_JOBS, RESIDENT, FLOW = "spark-jobs", "resident", "flow"
EPOCH_EXECUTION = ConfigOptions.key("millrace.epoch.execution").string_type().default_value(FLOW)
"""How epochs get to the tasks (streaming mode): as marks in a stream of tasks that all work at the same time, where
Spark is one process and the job has no loops; each as a job of Spark; or over connections to tasks that stay at their
cores."""
FLOW_EPOCH_MS = 1_000
"""How long an epoch in flow takes from its first record on, unless ``millrace.epoch.interval-ms`` is set."""

# State

STATE_DIRECTORY = ConfigOptions.key("millrace.state.directory").string_type().no_default_value()
"""Where tasks keep their state between epochs: a directory that all workers reach; default: a temporary one."""

STATE_TRUST_DIRECTORY = ConfigOptions.key(TRUST_DIRECTORY).boolean_type().default_value(False)
"""Whether all who can write to the directories of state, checkpoints, savepoints and caches may be trusted."""

# Tables and SQL

EVERY_CHANGE = ConfigOptions.key("millrace.table.aggregate.every-change").boolean_type().default_value(False)
"""Whether a GROUP BY in streaming mode sends a change for each row, and not one for each key and epoch."""

NEW_CALLS_BEGIN_EMPTY = (
    ConfigOptions.key("millrace.table.aggregate.new-begin-empty").boolean_type().default_value(False)
)
"""Whether aggregates that are new in a query since its savepoint begin with nothing, and the others go on."""

MATCH_SEMANTICS = ConfigOptions.key("millrace.match-recognize.semantics").string_type().default_value("flink")
"""What MATCH_RECOGNIZE means: ``flink`` or ``standard``."""

SQL_OUTPUT = ConfigOptions.key("millrace.sql.output").string_type().default_value("screen")
"""How the SQL client writes rows."""

SQL_READS_FILES = ConfigOptions.key("millrace.sql.read-files").boolean_type().default_value(False)
"""Whether SQL that comes to a gateway may look into files by their path."""

# Output and logs

OUTPUT_LEVEL = ConfigOptions.key("millrace.output.level").string_type().default_value("INFO")
"""The level from which on records of functions' logs are kept and shown."""

OUTPUT_LINES = ConfigOptions.key("millrace.output.lines-per-second").int_type().default_value(100)
"""How many lines a second of each subtask of an operator reach the driver."""

LOG_FILE_BYTES = ConfigOptions.key("millrace.log.max-file-size").memory_type().default_value(LogLimits.file_bytes)
"""The size, in bytes, from which on a log begins again."""

# REST API

ALLOWED_HOSTS = ConfigOptions.key("rest.allowed-hosts").string_type().no_default_value()
"""Further names under which the REST API is called, with commas between them."""

CERTIFICATE = ConfigOptions.key("security.rest.certificate").string_type().no_default_value()
"""File with the certificates of the REST API, in PEM."""

PRIVATE_KEY = ConfigOptions.key("security.rest.private-key").string_type().no_default_value()
"""File with the private key of the REST API, in PEM."""

AUTH = ConfigOptions.key("security.rest.auth").string_type().default_value("token")
"""Whether callers show a token: ``token`` or ``none``."""

PROTECT_READS = ConfigOptions.key("security.rest.protect-reads").boolean_type().no_default_value()
"""Whether reading needs the token, too; unless it is set, true where other machines reach the server."""

YARN_CANCEL = ConfigOptions.key("security.rest.yarn-cancel").boolean_type().default_value(False)
"""Whether a GET of /jobs/ID/yarn-cancel cancels a job."""

# As facts beside those of Flink

_TYPES: dict[Any, str] = {
    config_values.to_boolean: "boolean",
    config_values.to_int: "int",
    config_values.to_text: "string",
    config_values.to_duration: "duration",
    config_values.to_bytes_count: "memory",
}
_MIB = 1 << 20


def _fact(option: ConfigOption[Any], values: str = "") -> Fact:
    """:param values: all values of an option, with | between them."""
    return Fact(option.key, f"enum:{values}" if values else _TYPES[option.convert], default_text(option))


def _facts(*options: ConfigOption[Any]) -> tuple[Fact, ...]:
    return tuple(map(_fact, options))


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
    return f"{default // _MIB} mb" if option.convert is config_values.to_bytes_count else str(default)


OWN_FACTS = (
    *_facts(MASTER, EPOCH_INTERVAL, EPOCH_RECORDS, EPOCH_MILLIS, EPOCH_TIMEOUT),
    _fact(EPOCH_EXECUTION, f"{SPARK_JOBS}|{RESIDENT}|{FLOW}"),
    *_facts(STATE_DIRECTORY, STATE_TRUST_DIRECTORY),
    *_facts(EVERY_CHANGE, NEW_CALLS_BEGIN_EMPTY, SQL_READS_FILES),
    _fact(MATCH_SEMANTICS, "flink|standard"),
    _fact(SQL_OUTPUT, "screen|csv|json|arrow"),
    _fact(OUTPUT_LEVEL, "DEBUG|INFO|WARNING|ERROR|CRITICAL"),
    *_facts(OUTPUT_LINES, LOG_FILE_BYTES),
    *_facts(ALLOWED_HOSTS, CERTIFICATE, PRIVATE_KEY, PROTECT_READS, YARN_CANCEL),
    _fact(AUTH, "TOKEN|NONE"),
)
