"""Keys of memory, processors and processes: what Flink's processes get, which are Spark's driver and executors here."""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, mapped, works

_TASKS = "spark.executor.memory spark.executor.memoryOverhead"
_JOBS = "spark.driver.memory spark.driver.memoryOverhead"
_PYTHON = "state and functions live in Python processes, which get what the JVM leaves of the executor's memory"
_BROKER = "Spark moves data between processes; nearest: spark.shuffle.*, spark.network.*"
_SLOTS = "Spark gives out cores and processes; nearest: spark.dynamicAllocation.*"
_ALSO = "and Millrace's own files, checkpoints and state"
_RPC = "Spark's driver and executors talk in Spark's way; nearest: spark.rpc.*, spark.network.timeout"
_JVM = "user code is Python: Java classes come with Spark"

TITLE = "Memory, processes and network"
RULES = (
    mapped(
        "taskmanager.memory.process.size taskmanager.memory.flink.size taskmanager.heap.size taskmanager.heap.mb",
        _TASKS,
        "as Flink divides it: the heap is Spark's, the rest is for Python",
        computed=True,
    ),
    mapped(
        "taskmanager.memory.task.heap.size taskmanager.memory.framework.heap.size "
        "taskmanager.memory.task.off-heap.size taskmanager.memory.framework.off-heap.size "
        "taskmanager.memory.managed.size taskmanager.memory.managed.fraction taskmanager.memory.network.* "
        "taskmanager.memory.jvm-metaspace.size "
        "taskmanager.memory.jvm-overhead.*",
        _TASKS,
        "parts of the whole",
        computed=True,
    ),
    mapped(
        "jobmanager.memory.process.size jobmanager.memory.flink.size jobmanager.memory.heap.size jobmanager.heap.size "
        "jobmanager.heap.mb jobmanager.memory.off-heap.size jobmanager.memory.jvm-metaspace.size "
        "jobmanager.memory.jvm-overhead.*",
        _JOBS,
        "the heap is Spark's; with a local master the heaps of both processes together",
        computed=True,
    ),
    mapped(
        "taskmanager.numberOfTaskSlots",
        "spark.executor.cores spark.executor.instances",
        "on YARN and Kubernetes, with the parallelism, the number of executors; of a cluster's own workers the slots",
        computed=True,
    ),
    mapped("env.java.opts.all env.java.opts.jobmanager", "spark.driver.extraJavaOptions", computed=True),
    mapped("env.java.opts.taskmanager", "spark.executor.extraJavaOptions", computed=True),
    mapped("env.java.home", "JAVA_HOME", "the Java that runs Spark", computed=True),
    mapped("env.hadoop.conf.dir", "HADOOP_CONF_DIR", "unless the environment has it", computed=True),
    mapped("env.yarn.conf.dir", "YARN_CONF_DIR", "unless the environment has it", computed=True),
    mapped("flink.hadoop.<key>", "spark.hadoop.<key>", computed=True),
    mapped("fs.default-scheme", "spark.hadoop.fs.defaultFS", _ALSO),
    mapped("s3.access-key", "spark.hadoop.fs.s3a.access.key", _ALSO),
    mapped("s3.secret-key", "spark.hadoop.fs.s3a.secret.key", _ALSO),
    mapped("s3.endpoint", "spark.hadoop.fs.s3a.endpoint", _ALSO),
    mapped("s3.path.style.access", "spark.hadoop.fs.s3a.path.style.access", _ALSO),
    works(
        "s3.<parameter>",
        "common.files.stores.s3",
        "those that the page on object stores lists, also as fs.s3a.*; others, such as s3.entropy.*, do nothing",
    ),
    works("fs.<scheme>.<parameter>", "common.files.stores.others", "those that the page on object stores lists"),
    ignored("fs.allowed-fallback-filesystems", "a scheme has one file system here"),
    ignored("fs.*", "files are never overwritten, directories are made when they are needed"),
    ignored("env.java.opts.* env.java.default-opts.*", "there is no such process, or Millrace chooses them"),
    ignored("env.hbase.conf.dir", "nearest: HBASE_CONF_DIR in the environment"),
    ignored("taskmanager.memory.*", _PYTHON),
    ignored("jobmanager.memory.*", "nearest: spark.driver.memory"),
    ignored("taskmanager.cpu.cores", "nearest: spark.executor.cores"),
    ignored("external-resources external-resource.*", "nearest: spark.executor.resource.*"),
    ignored("taskmanager.network.* taskmanager.data.* shuffle-service-factory.class", _BROKER),
    ignored("jobmanager.partition.*", _BROKER),
    works(
        "jobmanager.rpc.address",
        "cluster.standalone.layout",
        "where a cluster's own master of Spark listens, if not on loopback: a name or address that others reach",
    ),
    ignored(
        "jobmanager.bind-host taskmanager.bind-host taskmanager.host",
        "nearest: jobmanager.rpc.address and conf/workers; spark.driver.host, spark.driver.bindAddress",
        "localhost",  # as the files that Flink comes with say
    ),
    ignored("jobmanager.rpc.* taskmanager.rpc.* taskmanager.collect-sink.port resourcemanager.rpc.port", _RPC),
    ignored("pekko.* akka.* heartbeat.* cluster.registration.* taskmanager.registration.*", _RPC),
    ignored("blob.*", "Spark sends files to its executors; nearest: spark.blockManager.port"),
    ignored(
        "taskmanager.slot.timeout taskmanager.load-balance.mode slot.* slotmanager.* resourcemanager.* "
        "cluster.evenly-spread-out-slots cluster.declarative-resource-management.enabled "
        "cluster.fine-grained-resource-management.enabled jobmanager.adaptive-scheduler.* minicluster.* "
        "jobmanager.retrieve-taskmanager-hostname local.number-resourcemanager",
        _SLOTS,
    ),
    ignored("taskmanager.runtime.*", "in batch mode Spark sorts and joins; nearest: spark.sql.*"),
    ignored("taskmanager.system-out.*", "what functions print goes where Spark's executors log"),
    ignored(
        "taskmanager.log.path taskmanager.debug.* taskmanager.resource-id jobmanager.resource-id",
        "executors have names and logs of Spark's",
    ),
    ignored("taskmanager.jvm-exit-on-oom taskmanager.exit-on-fatal-akka-error", "Spark ends such an executor"),
    ignored("jobmanager.execution.attempts-history-size", "an epoch's attempts are not kept"),
    ignored("jobmanager.future-pool.size jobmanager.io-pool.size cluster.io-pool.size", _RPC),
    ignored("cluster.* process.*", "processes are Spark's"),
    ignored("classloader.* plugin.*", _JVM),
)
