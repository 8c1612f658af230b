"""Millrace's own configuration options; everything else has Flink's keys."""

from __future__ import annotations

from millrace.common.config_options import ConfigOptions
from millrace.util.private_folder import TRUST_DIRECTORY

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
piece, nor come further in one. However long an epoch takes, it is no failure. Tasks that nobody can be asked about,
as those of a batch job with a single epoch, stand still when Spark tells of no progress. Streaming mode: ten minutes
unless it is set. Batch mode: no limit unless it is set."""
STREAMING_EPOCH_TIMEOUT_MS = 600_000

EPOCH_EXECUTION = ConfigOptions.key("millrace.epoch.execution").string_type().default_value("flow")
"""How epochs get to the tasks (streaming mode): as marks in a stream of tasks that all work at the same time, where
Spark is one process and the job has no loops; each as a job of Spark; or over connections to tasks that stay at their
cores."""
SPARK_JOBS = "spark-jobs"
RESIDENT = "resident"
FLOW = "flow"
FLOW_EPOCH_MS = 1_000
"""How long an epoch in flow takes from its first record on, unless ``millrace.epoch.interval-ms`` is set."""

STATE_TRUST_DIRECTORY = ConfigOptions.key(TRUST_DIRECTORY).boolean_type().default_value(False)
"""Whether all who can write to the directories of state, checkpoints, savepoints and caches may be trusted."""

STATE_DIRECTORY = ConfigOptions.key("millrace.state.directory").string_type().no_default_value()
"""Where tasks keep their state between epochs: a directory that all workers reach; default: a temporary one."""
