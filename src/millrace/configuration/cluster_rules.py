"""Rules for the keys of clusters: whether each works, maps to a setting of Spark, is ignored, or is refused.

REST server, web pages, history, SQL gateway and logs; memory, processors and processes (Spark's driver and executors
here); YARN, Kubernetes and Mesos; security and high availability.
"""

from __future__ import annotations

from millrace.configuration.rule import ignored, mapped, refused, topic, works

# REST, history, gateway, logs

CLUSTER = "cluster"
_HISTORY = "cli.cluster.verbs"
_OWN_SERVER = "Millrace's server is no server of Flink's: it keeps and answers as it needs"

CONTROL = topic(
    "REST, dashboard, history and gateway",
    works("rest.address", CLUSTER, "where the server is found"),
    works("rest.port", CLUSTER, "where the server is found; `none`: a program in the foreground has none", "ports"),
    works("rest.bind-address rest.bind-port", CLUSTER, "where the server listens"),
    works("web.submit.enable", CLUSTER, "whether programs may be uploaded"),
    works("web.cancel.enable", CLUSTER, "whether the dashboard may cancel jobs"),
    works("web.upload.dir", CLUSTER, "where uploaded programs go: its folder `flink-web-upload`"),
    works("web.refresh-interval", CLUSTER, "how often the dashboard asks"),
    works("jobmanager.archive.fs.dir", CLUSTER, "where finished jobs are archived, for history servers"),
    works(
        "jobstore.expiration-time jobstore.max-capacity completed-application-store.expiration-time "
        "completed-application-store.max-capacity",
        "cluster.retention",
        "for how long a cluster shows jobs that have ended, and how many",
    ),
    works(
        "historyserver.archive.retained-jobs historyserver.archive.retained-ttl",
        "cluster.history",
        "how many archives a history server keeps, and for how long; it deletes others",
    ),
    ignored("historyserver.archive.clean-expired-jobs", "jobs whose archives are gone are not shown", "true"),
    works("historyserver.web.address historyserver.web.port", _HISTORY, "where the history server listens"),
    works("historyserver.web.refresh-interval", _HISTORY, "how often pages of the history server ask"),
    works(
        "historyserver.archive.fs.dir historyserver.archive.fs.refresh-interval",
        _HISTORY,
        "where the history server looks for archives, and how often",
    ),
    works("rest.server.max-content-length", CLUSTER, "most bytes of an uploaded program"),
    works("rest.async.store-duration", CLUSTER, "how long savepoints that are done can be asked for"),
    works(
        "sql-gateway.endpoint.rest.address sql-gateway.endpoint.rest.bind-address sql-gateway.endpoint.rest.bind-port",
        "cli.cluster.gateway",
        "where the gateway listens",
    ),
    works("sql-gateway.endpoint.rest.port", "cli.cluster.gateway", "where the gateway listens", "ports"),
    works(
        "sql-gateway.session.check-interval sql-gateway.session.idle-timeout sql-gateway.session.max-num",
        "cli.cluster.gateway",
        "how many sessions there are, and how long one may be idle",
    ),
    works("env.log.dir", "configuration.files", "where logs go; of a cluster to a folder with its name there"),
    works("env.log.max", "configuration.files", "how many older files of a log are kept"),
    works(
        "env.ssh.opts",
        "cluster.processes.spark_layout",
        "options for ssh to the hosts of conf/workers and conf/masters",
    ),
    mapped("env.log.level", "spark.log.level", "how much a Spark that Millrace starts logs"),
    refused("sql-gateway.endpoint.type", "the gateway speaks REST; nearest: its REST endpoint", "rest"),
    ignored("sql-gateway.endpoint.*", "the gateway has the endpoint `rest`, and listens where it is found"),
    ignored("sql-gateway.session.* sql-gateway.worker.*", _OWN_SERVER),
    refused(
        "historyserver.web.ssl.enabled security.ssl.rest.enabled web.ssl.enabled",
        "the server does not read keystores of Java; nearest: security.rest.certificate and security.rest.private-key",
        "false",
    ),
    ignored("security.ssl.rest.*", "the server does not read keystores of Java"),
    ignored("rest.flamegraph.* web.backpressure.*", "samples are taken when somebody asks for them"),
    ignored("rest.profiling.*", "there is no profiler of Java; nearest: the flame graph of Python"),
    ignored("rest.*", _OWN_SERVER),
    ignored("web.rescale.enable web.adaptive-scheduler.*", "a job changes its parallelism from a savepoint"),
    ignored("web.*", _OWN_SERVER),
    ignored("historyserver.*", _OWN_SERVER),
    ignored("completed-application-store.* jobstore.* job-result-store.*", _OWN_SERVER),
    ignored("application-result-store.* job-event.* cleanup-strategy.*", _OWN_SERVER),
    ignored("client.*", "the command waits for its job; nearest: -d, which does not"),
    ignored("env.stdout-err.redirect-to-file", "what processes of a cluster print is in its logs", "true"),
    ignored("env.pid.dir", "nearest: MILLRACE_RUN_DIR in the environment"),
    ignored("user.artifacts.*", "programs are files of this machine"),
)


# Memory and processes

_TASKS = "spark.executor.memory spark.executor.memoryOverhead"
_JOBS = "spark.driver.memory spark.driver.memoryOverhead"
_PYTHON = "state and functions live in Python processes, which get what the JVM leaves of the executor's memory"
_BROKER = "Spark moves data between processes; nearest: spark.shuffle.*, spark.network.*"
_SLOTS = "Spark gives out cores and processes; nearest: spark.dynamicAllocation.*"
_ALSO = "and Millrace's own files, checkpoints and state"
_RPC = "Spark's driver and executors talk in Spark's way; nearest: spark.rpc.*, spark.network.timeout"
_JVM = "user code is Python: Java classes come with Spark"

RESOURCE = topic(
    "Memory, processes and network",
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
        "common.files.object_stores",
        "those that the page on object stores lists, also as fs.s3a.*; others, such as s3.entropy.*, do nothing",
    ),
    works("fs.<scheme>.<parameter>", "common.files.object_stores", "those that the page on object stores lists"),
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
        "cluster.processes.spark_layout",
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


# YARN, Kubernetes, Mesos

_K = "spark.kubernetes"
_TEMPLATE = "nearest: kubernetes.pod-template-file.*"
_NO_SERVICE = "Spark's driver makes its own service"
_SPARKS_FILES = "Spark's own files are sent, once per application; nearest: spark.yarn.archive"

DEPLOYMENT = topic(
    "YARN, Kubernetes, Mesos",
    mapped("yarn.application.name kubernetes.cluster-id", "spark.app.name"),
    mapped("yarn.application.queue", "spark.yarn.queue"),
    mapped("yarn.application.priority", "spark.yarn.priority", same=("-1",)),
    mapped("yarn.application.node-label", "spark.yarn.am.nodeLabelExpression"),
    mapped("yarn.taskmanager.node-label", "spark.yarn.executor.nodeLabelExpression"),
    mapped("yarn.application-attempts", "spark.yarn.maxAppAttempts"),
    mapped("yarn.application-attempt-failures-validity-interval", "spark.yarn.am.attemptFailuresValidityInterval"),
    mapped("yarn.tags", "spark.yarn.tags"),
    mapped("yarn.ship-files", "spark.yarn.dist.files"),
    mapped("yarn.ship-archives", "spark.yarn.dist.archives"),
    mapped("yarn.staging-directory", "spark.yarn.stagingDir"),
    mapped("yarn.file-replication", "spark.yarn.submit.file.replication", same=("-1",)),
    mapped("yarn.appmaster.vcores", "spark.yarn.am.cores"),
    mapped("yarn.containers.vcores", "spark.executor.cores", "more than the slots say", same=("-1",)),
    mapped("yarn.heartbeat.interval", "spark.yarn.scheduler.heartbeat.interval-ms", "from seconds", computed=True),
    mapped("yarn.heartbeat.container-request-interval", "spark.yarn.scheduler.initial-allocation.interval", "from ms"),
    mapped("yarn.rolled-logs.include-pattern", "spark.yarn.rolledLog.includePattern"),
    mapped("yarn.rolled-logs.exclude-pattern", "spark.yarn.rolledLog.excludePattern"),
    mapped("yarn.view.acls", "spark.ui.view.acls"),
    mapped("yarn.modify.acls", "spark.modify.acls"),
    mapped("flink.yarn.<key>", "spark.hadoop.yarn.<key>", computed=True),
    mapped(
        "containerized.master.env.<name>",
        "spark.yarn.appMasterEnv.<name> spark.kubernetes.driverEnv.<name>",
        computed=True,
    ),
    mapped("containerized.taskmanager.env.<name>", "spark.executorEnv.<name>", computed=True),
    mapped("kubernetes.container.image.ref", f"{_K}.container.image", "it needs Spark, and Python with Millrace"),
    mapped("kubernetes.container.image.pull-policy", f"{_K}.container.image.pullPolicy"),
    mapped("kubernetes.container.image.pull-secrets", f"{_K}.container.image.pullSecrets"),
    mapped("kubernetes.namespace", f"{_K}.namespace"),
    mapped("kubernetes.context", f"{_K}.context"),
    mapped("kubernetes.service-account", f"{_K}.authenticate.serviceAccountName"),
    mapped("kubernetes.jobmanager.service-account", f"{_K}.authenticate.driver.serviceAccountName"),
    mapped("kubernetes.taskmanager.service-account", f"{_K}.authenticate.executor.serviceAccountName"),
    mapped("kubernetes.jobmanager.cpu.amount", f"{_K}.driver.request.cores"),
    mapped("kubernetes.taskmanager.cpu.amount", f"{_K}.executor.request.cores", same=("-1.0",)),
    mapped("kubernetes.jobmanager.cpu.limit-factor", f"{_K}.driver.limit.cores", "times the amount", computed=True),
    mapped("kubernetes.taskmanager.cpu.limit-factor", f"{_K}.executor.limit.cores", "times the amount", computed=True),
    mapped("kubernetes.jobmanager.labels", f"{_K}.driver.label.<key>"),
    mapped("kubernetes.taskmanager.labels", f"{_K}.executor.label.<key>"),
    mapped("kubernetes.jobmanager.annotations", f"{_K}.driver.annotation.<key>"),
    mapped("kubernetes.taskmanager.annotations", f"{_K}.executor.annotation.<key>"),
    mapped("kubernetes.jobmanager.node-selector", f"{_K}.driver.node.selector.<key>"),
    mapped("kubernetes.taskmanager.node-selector", f"{_K}.executor.node.selector.<key>"),
    mapped("kubernetes.internal-service.annotations", f"{_K}.driver.service.annotation.<key>"),
    mapped("kubernetes.internal-service.labels", f"{_K}.driver.service.label.<key>"),
    mapped("kubernetes.secrets", f"{_K}.driver.secrets.<key> {_K}.executor.secrets.<key>"),
    mapped(
        "kubernetes.env.secretKeyRef",
        f"{_K}.driver.secretKeyRef.<env> {_K}.executor.secretKeyRef.<env>",
        computed=True,
    ),
    mapped("kubernetes.hadoop.conf.config-map.name", f"{_K}.hadoop.configMapName"),
    mapped("kubernetes.pod-template-file.default", f"{_K}.driver.podTemplateFile {_K}.executor.podTemplateFile"),
    mapped("kubernetes.pod-template-file.jobmanager", f"{_K}.driver.podTemplateFile"),
    mapped("kubernetes.pod-template-file.taskmanager", f"{_K}.executor.podTemplateFile"),
    ignored("kubernetes.config.file", "nearest: KUBECONFIG in the environment"),
    ignored("kubernetes.jobmanager.tolerations kubernetes.taskmanager.tolerations", _TEMPLATE),
    ignored(
        "kubernetes.jobmanager.owner.reference kubernetes.persistent-volume-claim* kubernetes.hostnetwork.enabled",
        _TEMPLATE,
    ),
    ignored("kubernetes.jobmanager.replicas", "an application has one driver"),
    ignored("kubernetes.rest-service.*", _NO_SERVICE),
    ignored("kubernetes.artifacts.*", "nearest: spark.kubernetes.file.upload.path"),
    ignored("kubernetes.*", "Spark asks Kubernetes in its own way; nearest: spark.kubernetes.*"),
    ignored("yarn.provided.* yarn.flink-dist-jar yarn.classpath.include-user-jar", _SPARKS_FILES),
    ignored(
        "yarn.security.* yarn.application.type yarn.application.id yarn.application-master.port",
        "Spark asks YARN in its own way; nearest: spark.yarn.*",
    ),
    ignored("yarn.container-start-command-template yarn.properties-file.location", "Spark starts its own containers"),
    ignored("mesos.*", "neither Flink nor Spark runs on Mesos any more; nearest: --master yarn or k8s://"),
)


# Security and high availability

_NO_LEADER = "a driver that dies is started again by `millrace run`, from the last checkpoint; there is no second one"
_SPARKS_KEYS = "Spark's own secret protects what its processes say to each other; nearest: spark.authenticate.*"

SECURITY = topic(
    "Security and high availability",
    mapped("security.kerberos.login.keytab", "spark.kerberos.keytab"),
    mapped("security.kerberos.login.principal", "spark.kerberos.principal"),
    mapped("security.kerberos.access.hadoopFileSystems", "spark.kerberos.access.hadoopFileSystems"),
    mapped("security.kerberos.relogin.period", "spark.kerberos.relogin.period"),
    mapped(
        "security.ssl.internal.enabled",
        "spark.authenticate spark.network.crypto.enabled spark.io.encryption.enabled",
        "Spark's encryption of what its processes send, with a secret of Spark's own",
    ),
    mapped("security.ssl.enabled", "spark.authenticate spark.network.crypto.enabled spark.io.encryption.enabled"),
    ignored("security.ssl.*", _SPARKS_KEYS),
    ignored("blob.service.ssl.enabled taskmanager.data.ssl.enabled pekko.ssl.enabled", _SPARKS_KEYS),
    ignored("security.delegation.*", "nearest: spark.security.credentials.*"),
    ignored("security.kerberos.*", "nearest: spark.kerberos.*, and what the machine's kinit gives"),
    ignored("security.context.* security.module.*", "there is no Java class to load"),
    ignored("high-availability.type", _NO_LEADER, "NONE"),
    ignored("high-availability.*", _NO_LEADER),
    ignored("zookeeper.*", _NO_LEADER),
)
