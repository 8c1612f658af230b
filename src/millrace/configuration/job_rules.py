"""Rules for the keys of jobs: whether each works, maps to a setting of Spark, is ignored, or is refused.

The keys of jobs (``execution.*``, ``pipeline.*``, ``restart-strategy.*``, ``task.*``), state and checkpoints, SQL and
the Table API, metrics. Ignoring a key of state never changes a result: these keys choose how Flink stores or transfers
state, for which Millrace has its own way. Keys of our own have their rules in ``own_options.py``.
"""

from __future__ import annotations

from millrace.configuration.rule import ignored, mapped, refused, topic, works

_ENVIRONMENT = "datastream.stream_execution_environment"

# Jobs

_EXECUTION_CONFIG = "common.execution_config"
_NO_JAVA = "user code is Python: there is no Java class to load or to serialize with"
_ADAPTIVE = "Spark's adaptive execution decides; nearest: spark.sql.adaptive.*"

JOB = topic(
    "Jobs",
    works(
        "parallelism.default",
        _EXECUTION_CONFIG,
        "subtasks of operators that don't say otherwise; the cores of the machine",
    ),
    works("execution.runtime-mode", _ENVIRONMENT, "`STREAMING`, `BATCH` or `AUTOMATIC`"),
    works("pipeline.name", _ENVIRONMENT, "name of jobs that are executed without one"),
    works("pipeline.max-parallelism", _EXECUTION_CONFIG, "number of key groups"),
    works("pipeline.auto-generate-uids", _EXECUTION_CONFIG, "false: every operator needs a uid"),
    works("pipeline.global-job-parameters", _EXECUTION_CONFIG, "your own parameters, for functions to read"),
    works("pipeline.operator-chaining.*", _ENVIRONMENT, "chains give tasks their names"),
    works("pipeline.cached-files", "datastream.job_settings", "files that functions find in the cache"),
    mapped(
        "pipeline.jars pipeline.classpaths",
        "spark.jars",
        "jars of Flink's own (`flink-...jar`) that are not there are left out, since nothing here would run them",
        computed=True,
    ),
    works("task.cancellation.timeout", _EXECUTION_CONFIG, "how long a task may go on that was told to end"),
    works(
        "execution.state-recovery.path execution.state-recovery.ignore-unclaimed-state "
        "execution.state-recovery.claim-mode",
        "datastream.settings",
        "what the first job begins with",
    ),
    works("restart-strategy.*", "runtime.coordination", "when a job that failed is started again"),
    works(
        "jobmanager.execution.failover-strategy",
        "runtime.coordination.restart",
        "`region`: a task that fails is tried again by itself first; `full`: the job restarts",
    ),
    works(
        "execution.target",
        "datastream.stream_execution_environment",
        "where programs run: in this process, or on a cluster of Millrace's own",
    ),
    works(
        "execution.attached",
        "datastream.stream_execution_environment",
        "`false`: a plain program with target `remote` does not wait for its job; for the command: -d",
    ),
    ignored("execution.shutdown-on-attached-exit", "Ctrl-C cancels the job that is waited for; nearest: -d", "true"),
    refused(
        "execution.program-config.enabled", "what a program sets always counts; nearest: leave the key away", "true"
    ),
    ignored("execution.program-config.wildcards", "what a program sets always counts"),
    ignored("pipeline.auto-watermark-interval", "watermarks are written once a chunk of elements"),
    ignored("pipeline.object-reuse", "values are never copied between operators of a chain", "true", "false"),
    works(
        "execution.buffer-timeout.*",
        _ENVIRONMENT,
        "in flow how long what operators emit is gathered at most, 5 ms unless it is set; else buffers are sent at the "
        "end of every epoch",
    ),
    ignored(
        "pipeline.force-* pipeline.generic-types pipeline.closure-cleaner-level pipeline.serialization-config "
        "pipeline.auto-type-registration pipeline.default-kryo-serializers pipeline.registered-kryo-types "
        "pipeline.registered-pojo-types",
        "values travel as pickles: there is no Kryo, no Avro and no closure cleaner",
    ),
    ignored("pipeline.time-characteristic", "watermark strategies alone decide", "EventTime"),
    ignored("pipeline.jobvertex-parallelism-overrides", "nearest: set_parallelism() of the operator"),
    ignored("pipeline.vertex-*", "vertices are named and described in Millrace's own way"),
    ignored(
        "pipeline.watermark-alignment.* pipeline.sources.pause-until-first-checkpoint",
        "a source reads nothing for an epoch while it is ahead; no elements wait in buffers meanwhile",
    ),
    ignored("pipeline.cep.*", "partial matches lie in keyed state, without a cache of their own"),
    ignored("task.cancellation.interval", "a task is told once to end", "30 s"),
    ignored("task.cancellation.timers.timeout", "timers fire in the task's own thread"),
    ignored(
        "execution.job-listeners execution.job-status-changed-listeners jobmanager.failure-enrichers",
        f"{_NO_JAVA}; nearest: JobClient",
    ),
    ignored("execution.state-recovery.approximate-local-recovery", "restarted tasks always have their whole state"),
    ignored("execution.state-recovery.from-local", "tasks that live go on with what they have"),
    ignored("execution.state-recovery.without-channel-state.*", "nothing is in flight when an epoch ends"),
    ignored("execution.async-state.*", "access to state does not wait for another process"),
    ignored(
        "execution.batch.* execution.batch-shuffle-mode execution.batch-state-backend.enabled "
        "fine-grained.shuffle-mode.all-blocking",
        _ADAPTIVE,
    ),
    ignored(
        "execution.sorted-inputs.* execution.sort-partition.* execution.sort-keyed-partition.*",
        "in batch mode Spark's sort brings keys together",
    ),
    ignored(
        "execution.shutdown-on-application-finish execution.submit-failed-job-on-application-error "
        "execution.terminate-application-on-any-job-terminated-exceptionally",
        "a program and its jobs end together",
    ),
    ignored("scheduler-mode jobmanager.scheduler", "nearest: spark.dynamicAllocation.enabled", "default"),
    ignored("slow-task-detector.*", "nearest: spark.speculation"),
    ignored("compiler.*", "there is no optimizer of the DataSet API"),
)


# State and checkpoints

_CHECKPOINTS = "datastream.job_settings"
_PLAN = "datastream.job_settings"
_STATE = "datastream.job_settings"


_NOTHING_WAITS = "no barrier waits in a queue, since nothing is in flight when an epoch ends"
_OWN_FILES = "state files have a form of their own, one a task and epoch"
_NO_LOG = "state is always kept as changes, in the same files"

STATE = topic(
    "State and checkpoints",
    works("execution.checkpointing.interval", _CHECKPOINTS, "checkpoints at the first end of an epoch after this time"),
    works("execution.checkpointing.timeout", _CHECKPOINTS, "one that takes longer to record counts as failed"),
    works("execution.checkpointing.min-pause", _CHECKPOINTS, "least time from the end of one to the next"),
    works("execution.checkpointing.mode", _CHECKPOINTS, "`AT_LEAST_ONCE` gets exactly once, too"),
    works(
        "execution.checkpointing.tolerable-failed-checkpoints",
        _CHECKPOINTS,
        "failures in a row that are only counted",
    ),
    works(
        "execution.checkpointing.externalized-checkpoint-retention",
        _CHECKPOINTS,
        "what stays when the job is cancelled or fails",
    ),
    works("execution.checkpointing.storage", _PLAN, "`filesystem`, `jobmanager` or your own class"),
    works("execution.checkpointing.dir", _PLAN, "where checkpoints go"),
    works("execution.checkpointing.num-retained", _PLAN, "checkpoints that are kept"),
    works("execution.checkpointing.savepoint-dir", _ENVIRONMENT, "where savepoints go"),
    works("state.backend.type", _STATE, "`hashmap`, `rocksdb` or your own class"),
    works("state.backend.rocksdb.localdir", _STATE, "where the on-disk backend keeps its files"),
    works("io.tmp.dirs", _STATE, "where the on-disk backend keeps its files, unless it has a key of its own"),
    ignored("state.changelog.enabled", f"accepted: {_NO_LOG}", "true", "false"),
    ignored(
        "execution.checkpointing.local-backup.enabled",
        "accepted: tasks that live go on with what they have, others read the files",
        "true",
        "false",
    ),
    ignored(
        "execution.checkpointing.incremental",
        "checkpoints are always incremental, with a whole state now and then",
        "true",
    ),
    ignored("state.backend.async", "the changes of an epoch are written at its end", "true"),
    ignored(
        "execution.checkpointing.max-concurrent-checkpoints",
        "one at a time is enough: it is a file of the driver",
        "1",
    ),
    ignored(
        "execution.checkpointing.unaligned.enabled execution.checkpointing.unaligned.forced",
        _NOTHING_WAITS,
        "false",
    ),
    ignored("execution.checkpointing.aligned-checkpoint-timeout", _NOTHING_WAITS, "0 ms"),
    ignored("execution.checkpointing.unaligned.* execution.checkpointing.during-recovery.enabled", _NOTHING_WAITS),
    ignored(
        "execution.checkpointing.interval-during-backlog",
        "the cadence does not depend on a backlog; nearest: execution.checkpointing.interval",
    ),
    ignored(
        "execution.checkpointing.checkpoints-after-tasks-finish",
        "checkpoints go on when some tasks have finished",
        "true",
    ),
    ignored("execution.checkpointing.data-inline-threshold", f"{_OWN_FILES}; small ones are not put elsewhere"),
    ignored("execution.checkpointing.write-buffer-size", f"{_OWN_FILES}, written piece by piece"),
    ignored("execution.checkpointing.file-merging.*", _OWN_FILES),
    ignored(
        "execution.checkpointing.snapshot-compression",
        "state files are not compressed, savepoints (Parquet) are",
        "false",
    ),
    ignored("execution.checkpointing.create-subdir", "there always is a folder with the id of the job", "true"),
    ignored("execution.checkpointing.cleaner.*", "the driver deletes files when nobody needs them"),
    ignored(
        "execution.checkpointing.local-backup.dirs",
        "there are no copies beside the working state; nearest: state.backend.rocksdb.localdir",
    ),
    ignored(
        "execution.checkpointing.force execution.checkpointing.prefer-checkpoint-for-recovery",
        "all that is set of checkpoints counts, and a job begins with the newest",
    ),
    ignored(
        "state.backend.rocksdb.metrics.*",
        "the store of the on-disk backend is LMDB; nearest: millrace.state.metrics, which turns on all metrics",
    ),
    ignored(
        "state.backend.rocksdb.*",
        "the store of the on-disk backend is LMDB; nearest: state.backend.rocksdb.localdir",
    ),
    ignored("state.backend.forst.*", "there is no ForSt; nearest: state.backend.type = rocksdb"),
    ignored("state.changelog.*", _NO_LOG),
    ignored(
        "state.latency-track.* state.size-track.*",
        "single accesses to state are not measured; nearest: the metrics of operators",
    ),
)


# SQL and Table API

_PLANNER = "table.planner.engine"
_CLIENT = "cli.sql.results"
_TABLE_CONFIG = "table.sessions.session"
_DEPENDENCIES = "datastream.job_settings"
_OWN_PLANS = "plans are made by Millrace's own rules in streaming mode, by Spark's optimizer in batch mode"
_SPARK_DECIDES = "in batch mode Spark decides; nearest: spark.sql.*"
_ONE_PROCESS = "Python functions run in the process of their task: nothing is sent to another one"

TABLE = topic(
    "SQL, Table API and Python",
    works("table.local-time-zone", _TABLE_CONFIG, "the zone of TIMESTAMP_LTZ"),
    works("table.exec.state.ttl", _TABLE_CONFIG, "how long state is kept that is not written"),
    works("table.sql-dialect", _TABLE_CONFIG, "`DEFAULT` only"),
    works("table.display.max-column-width", _TABLE_CONFIG, "of printed columns"),
    works("table.dml-sync", _TABLE_CONFIG, "whether INSERT waits for the end of its job"),
    works("table.builtin-catalog-name table.builtin-database-name", "table.sessions.session"),
    works("table.dynamic-table-options.enabled", "table.sessions.session", "whether the hint OPTIONS may be used"),
    works("table.exec.sink.not-null-enforcer table.exec.sink.type-length-enforcer", "runtime.tables.constraints"),
    works(
        "table.exec.sink.nested-constraint-enforcer",
        "runtime.tables.constraints",
        "whether both hold inside ROW, or ROW, ARRAY and MAP, too",
    ),
    works(
        "table.exec.sink.require-on-conflict",
        "table.planner.upserts",
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
    works("table.optimizer.reuse-sub-plan-enabled table.optimizer.reuse-source-enabled", "relational.rules.optimizer"),
    works(
        "table.optimizer.join-reorder-enabled",
        "relational.rules.join_rules",
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
        "table.planner.plan",
        "`TRY_RESOLVE`: what a changing row found in a look-up is kept, and taken back as it was; values as `RAND()` "
        "of rows that change are refused where they would not be found again",
    ),
    works("table.plan.force-recompile", "table.planner.compiled_plan", "whether a compiled plan is written anew"),
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
        "table.planner.engine",
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


# Metrics

METRIC = topic(
    "Metrics",
    works("metrics.reporters metrics.reporter.*", "metrics.reporters", "where metrics go"),
    works("metrics.scope.*", "metrics.report", "what the names of metrics begin with"),
    ignored("metrics.scope.jm-operator", "what coordinates an operator has no metrics of its own"),
    works("metrics.latency.interval", "common.execution_config", "how often sources send markers that measure latency"),
    works("metrics.system-resource", "metrics.system", "whether memory and processors of the machines are metrics"),
    ignored("metrics.system-resource-probing-interval", "they are measured when they are reported"),
    ignored("metrics.latency.*", "latency is measured from each source to each operator"),
    ignored("metrics.*", "metrics come with the acknowledgement of an epoch: nobody asks for them"),
    ignored("traces.* events.*", "nearest: metrics.reporters"),
    ignored("queryable-state.*", "nearest: the REST API, or a savepoint read with millrace.state"),
    ignored("jmx.server.port", "nearest: -Dcom.sun.management.jmxremote.port in spark.driver.extraJavaOptions"),
)
