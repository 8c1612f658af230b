"""Millrace's own keys, and keys that it shares with Spark."""

from __future__ import annotations

from millrace.configuration.declared.fact import Fact
from millrace.configuration.declared.rule import works

_OPTIONS = "datastream.settings.options"
_REST = "cluster.rest.options"

TITLE = "Millrace's own"
RULES = (
    works("millrace.master", _OPTIONS, "Spark master of a session that Millrace makes"),
    works("millrace.epoch.interval-ms", _OPTIONS, "least time between the beginnings of two epochs"),
    works("millrace.epoch.max-records", _OPTIONS, "most records that a subtask of a source reads in an epoch"),
    works(
        "millrace.epoch.max-duration-ms",
        _OPTIONS,
        "longest time that a subtask of a source reads in an epoch, and a task works",
    ),
    works("millrace.epoch.timeout", _OPTIONS, "how long a task may stand still; 10 min in streaming mode"),
    works(
        "millrace.epoch.execution",
        _OPTIONS,
        "how epochs get to the tasks (streaming mode): as marks in a stream of tasks that all work at the same time, "
        "on Spark in one process without loops; each as a job of Spark; or over connections to tasks that stay",
    ),
    works("millrace.state.directory", _OPTIONS, "where tasks keep their state between epochs"),
    works("millrace.match-recognize.semantics", "table.sessions.session", "what MATCH_RECOGNIZE means: see its guide"),
    works(
        "millrace.table.aggregate.every-change",
        "table.planner.run",
        "whether a GROUP BY in streaming mode shows a change for each row, as in Flink, not one for each key and epoch",
    ),
    works(
        "millrace.table.aggregate.new-begin-empty",
        "runtime.tables.stored_calls",
        "whether aggregates that a query has got since its savepoint begin with nothing, and the others go on; else "
        "such a query is refused",
    ),
    works(
        "millrace.sql.read-files",
        "table.sessions.inferring",
        "whether SQL at a gateway may name files (`FROM '/data/x.csv'`) and leave out the columns of tables",
    ),
    works("millrace.sql.output", "cli.sql.settings", "how the SQL client writes rows: for people, CSV, JSON, Arrow"),
    works("rest.allowed-hosts", _REST, "further names under which the REST API is called"),
    works("security.rest.certificate security.rest.private-key", _REST, "files (PEM) for TLS of the REST API"),
    works("security.rest.protect-reads", _REST, "whether looking needs the token, too; true beyond loopback"),
    works("millrace.log.max-file-size", "configuration.log_limits", "from which size on a log begins again"),
    works("millrace.output.level", "spark.shipping.output", "from which level on what functions log is kept and shown"),
    works(
        "millrace.output.lines-per-second",
        "spark.shipping.output",
        "how much of what functions print and log is shown where the program runs, of each subtask; 0: nothing",
    ),
    works("security.rest.yarn-cancel", _REST, "whether a GET of /jobs/ID/yarn-cancel cancels a job, as old scripts do"),
    works("millrace.state.trust-directory", "util.private_folder", "whether all who can write there may be trusted"),
)
FACTS = (
    Fact("rest.allowed-hosts", "string"),
    Fact("security.rest.certificate", "string"),
    Fact("security.rest.private-key", "string"),
    Fact("security.rest.protect-reads", "boolean"),
    Fact("security.rest.yarn-cancel", "boolean", "false"),
    Fact("millrace.master", "string"),
    Fact("millrace.epoch.interval-ms", "int", "100"),
    Fact("millrace.table.aggregate.every-change", "boolean", "false"),
    Fact("millrace.table.aggregate.new-begin-empty", "boolean", "false"),
    Fact("millrace.epoch.max-records", "int", "1000000"),
    Fact("millrace.epoch.max-duration-ms", "int", "1000"),
    Fact("millrace.epoch.timeout", "duration"),
    Fact("millrace.epoch.execution", "enum:spark-jobs|resident|flow", "flow"),
    Fact("millrace.log.max-file-size", "memory", "64 mb"),
    Fact("millrace.output.level", "enum:DEBUG|INFO|WARNING|ERROR|CRITICAL", "INFO"),
    Fact("millrace.output.lines-per-second", "int", "100"),
    Fact("millrace.match-recognize.semantics", "enum:flink|standard", "flink"),
    Fact("millrace.sql.output", "enum:screen|csv|json|arrow", "screen"),
    Fact("millrace.sql.read-files", "boolean", "false"),
    Fact("millrace.state.directory", "string"),
    Fact("millrace.state.trust-directory", "boolean", "false"),
    Fact("security.rest.auth", "enum:TOKEN|NONE", "token"),
)
