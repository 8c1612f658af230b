"""Keys of single jobs: ``execution.*``, ``pipeline.*``, ``restart-strategy.*``, ``task.*``."""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, mapped, refused, works

_CONFIG = "common.execution_config"
_ENVIRONMENT = "datastream.stream_execution_environment"
_NO_JAVA = "user code is Python: there is no Java class to load or to serialize with"
_ADAPTIVE = "Spark's adaptive execution decides; nearest: spark.sql.adaptive.*"

TITLE = "Jobs"
RULES = (
    works("parallelism.default", _CONFIG, "subtasks of operators that don't say otherwise; the cores of the machine"),
    works("execution.runtime-mode", _ENVIRONMENT, "`STREAMING`, `BATCH` or `AUTOMATIC`"),
    works("pipeline.name", _ENVIRONMENT, "name of jobs that are executed without one"),
    works("pipeline.max-parallelism", _CONFIG, "number of key groups"),
    works("pipeline.auto-generate-uids", _CONFIG, "false: every operator needs a uid"),
    works("pipeline.global-job-parameters", _CONFIG, "your own parameters, for functions to read"),
    works("pipeline.operator-chaining.*", _ENVIRONMENT, "chains give tasks their names"),
    works("pipeline.cached-files", "datastream.settings.dependencies", "files that functions find in the cache"),
    mapped(
        "pipeline.jars pipeline.classpaths",
        "spark.jars",
        "jars of Flink's own (`flink-...jar`) that are not there are left out, since nothing here would run them",
        computed=True,
    ),
    works("task.cancellation.timeout", _CONFIG, "how long a task may go on that was told to end"),
    works(
        "execution.state-recovery.path execution.state-recovery.ignore-unclaimed-state "
        "execution.state-recovery.claim-mode",
        "datastream.settings.restore_settings",
        "what the first job begins with",
    ),
    works("restart-strategy.*", "runtime.coordination", "when a job that failed is started again"),
    works(
        "jobmanager.execution.failover-strategy",
        "runtime.coordination.failover",
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
