"""Keys of SQL and the Table API: ``table.*``, ``sql-client.*``, ``python.*``."""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, refused, works

_PLANNER = "table.planner.run"
_CLIENT = "cli.sql.settings"
_CONFIG = "table.settings.table_config"
_DEPENDENCIES = "datastream.settings.dependencies"
_OWN_PLANS = "plans are made by Millrace's own rules in streaming mode, by Spark's optimizer in batch mode"
_SPARK_DECIDES = "in batch mode Spark decides; nearest: spark.sql.*"
_ONE_PROCESS = "Python functions run in the process of their task: nothing is sent to another one"

TITLE = "SQL, Table API and Python"
RULES = (
    works("table.local-time-zone", _CONFIG, "the zone of TIMESTAMP_LTZ"),
    works("table.exec.state.ttl", _CONFIG, "how long state is kept that is not written"),
    works("table.sql-dialect", _CONFIG, "`DEFAULT` only"),
    works("table.display.max-column-width", _CONFIG, "of printed columns"),
    works("table.dml-sync", _CONFIG, "whether INSERT waits for the end of its job"),
    works("table.builtin-catalog-name table.builtin-database-name", "table.settings.environment_settings"),
    works("table.dynamic-table-options.enabled", "table.sessions.session", "whether the hint OPTIONS may be used"),
    works("table.exec.sink.not-null-enforcer table.exec.sink.type-length-enforcer", "runtime.tables.constraints"),
    works(
        "table.exec.sink.nested-constraint-enforcer",
        "runtime.tables.constraints",
        "whether both hold inside ROW, or ROW, ARRAY and MAP, too",
    ),
    works(
        "table.exec.sink.require-on-conflict",
        "table.planner.conflicts",
        "whether INSERT into a table with another primary key than the query's wants ON CONFLICT; unlike in Flink "
        "2.3, not unless it is set to true",
    ),
    works("table.exec.source.idle-timeout", _PLANNER),
    works(
        "table.exec.source.cdc-events-duplicate",
        "table.sessions.table_info",
        "changes that come twice, or without old rows, are put right by the PRIMARY KEY",
    ),
    works("table.optimizer.agg-phase-strategy table.optimizer.distinct-agg.split.enabled", _PLANNER),
    works("table.optimizer.reuse-sub-plan-enabled table.optimizer.reuse-source-enabled", "relational.rules.sharing"),
    works(
        "table.optimizer.join-reorder-enabled",
        "relational.rules.join_order",
        "inner joins of tables whose rows are counted (ANALYZE TABLE, heads of Parquet files)",
    ),
    works("table.exec.async-scalar.*", "runtime.functions.asynchronous", "how asynchronous functions are called"),
    works(
        "table.exec.async-lookup.timeout table.exec.async-lookup.buffer-capacity",
        "runtime.tables.joins.lookup_hint",
        "of look-ups that have no hint LOOKUP: unlike in Flink, no limit unless it is set",
    ),
    works(
        "table.optimizer.non-deterministic-update.strategy",
        "table.planner.changing_values",
        "`TRY_RESOLVE`: what a changing row found in a look-up is kept, and taken back as it was; values as `RAND()` "
        "of rows that change are refused where they would not be found again",
    ),
    works("table.plan.force-recompile", "table.plans.compiled_plan", "whether a compiled plan is written anew"),
    works(
        "sql-client.execution.* sql-client.verbose sql-client.display.print-time-cost "
        "sql-client.display.max-column-width",
        _CLIENT,
    ),
    works("python.files python.archives python.requirements python.executable", _DEPENDENCIES, "what workers need"),
    works("python.metric.enabled", "runtime.functions.runner", "whether functions may have metrics"),
    works("python.fn-execution.arrow.batch.size", "runtime.functions.vectors", "rows that a vectorized function gets"),
    works("python.fn-execution.bundle.size", "runtime.functions.vectors", "more rows it never gets"),
    refused(
        "table.exec.legacy-cast-behaviour",
        "casts follow the rules of Flink 1.15 and later; nearest: TRY_CAST",
        "DISABLED",
    ),
    refused(
        "table.column-expansion-strategy", "SELECT * gives all columns but metadata; nearest: name the columns", ""
    ),
    refused("table.exec.sort.default-limit", "ORDER BY gives all rows; nearest: LIMIT in the query", "-1"),
    refused(
        "table.rtas-ctas.atomicity-enabled",
        "CREATE TABLE AS makes the table first; nearest: leave the key away",
        "false",
    ),
    refused(
        "table.catalog-store.kind",
        "catalogs are kept for a session; nearest: CREATE CATALOG in a script for --init",
        "generic_in_memory",
    ),
    ignored("table.catalog-store.file.*", "catalogs are kept for a session"),
    ignored("table.catalog-modification.listeners", "there is no Java class to load"),
    works(
        "table.exec.mini-batch.enabled table.exec.mini-batch.allow-latency",
        _PLANNER,
        "how long changes are gathered at least; some ms of them are gathered in any case",
    ),
    works(
        "table.exec.emit.early-fire.enabled table.exec.emit.early-fire.delay table.exec.emit.late-fire.enabled "
        "table.exec.emit.late-fire.delay table.exec.emit.allow-lateness",
        "table.planner.emission",
        "group windows that give rows before their end, or change them behind it",
    ),
    ignored("table.exec.mini-batch.*", "changes are gathered by time alone"),
    ignored("table.exec.deduplicate.* table.exec.rank.*", "changes are brought together within an epoch anyway"),
    ignored("table.exec.async-lookup.*", "rows of look-ups, and those of each key, keep their order in any case"),
    ignored("table.exec.async-*", "calls are made as options of the table or of the function say"),
    ignored("table.exec.resource.default-parallelism", "nearest: parallelism.default"),
    ignored("table.exec.resource.* table.exec.spill-compression.* table.exec.sort.*", _SPARK_DECIDES),
    ignored(
        "table.exec.local-hash-agg.* table.exec.operator-fusion-codegen.enabled table.exec.shuffle-mode "
        "table.exec.disabled-operators table.exec.window-agg.buffer-size-limit",
        _SPARK_DECIDES,
    ),
    ignored("table.exec.sink.keyed-shuffle", "rows of a key stay in order on their way to a sink"),
    ignored("table.exec.sink.upsert-materialize*", "what a sink with a key gets is put in order where it is needed"),
    ignored("table.exec.sink.rowtime-inserter", "rows keep their time on the way into a sink"),
    ignored("table.exec.interval-join.*", "state goes when the watermark has passed its interval"),
    ignored("table.exec.delta-join.* table.exec.unbounded-over.version", _OWN_PLANS),
    ignored("table.exec.uid.* table.exec.legacy-transformation-uids", "operators get their ids from the plan's shape"),
    ignored("table.exec.simplify-operator-name-enabled", "names of operators are Millrace's own"),
    ignored("table.generated-code.*", "no code is generated"),
    ignored("table.legacy-nested-row-nullability", "ROW types keep the nullability that they are declared with"),
    ignored("table.optimizer.*", _OWN_PLANS),
    ignored("table.plan.*", "compiled plans hold all that they need of tables", "ALL"),
    ignored("table.planner", "there is one planner", "BLINK"),
    ignored("table.resources.download-dir", "jars and files of functions stay where they are"),
    ignored("materialized-table.* workflow-scheduler.*", "there are no materialized tables"),
    ignored("sql-client.display.color-schema sql-client.display.show-line-numbers", "the prompt has one look"),
    ignored("python.client.executable", "the program runs in the Python that starts it"),
    ignored("python.pythonpath", "nearest: python.files"),
    ignored("python.systemenv.enabled", "workers have the environment of Spark's executors"),
    ignored("python.profile.enabled", "nearest: spark.python.profile"),
    ignored("python.logging.* python.job-options", "nearest: logging.getLogger() in the functions"),
    ignored("python.execution-mode python.operator-chaining.enabled", _ONE_PROCESS),
    ignored("python.loopback-server.address", _ONE_PROCESS),
    ignored(
        "python.fn-execution.bundle.time python.fn-execution.memory.managed python.state.* python.map-state.*",
        _ONE_PROCESS,
    ),
)
