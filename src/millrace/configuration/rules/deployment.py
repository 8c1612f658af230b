"""Keys of YARN, Kubernetes and Mesos: what Flink asks them for is what Spark asks them for here."""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, mapped

_K = "spark.kubernetes"
_TEMPLATE = "nearest: kubernetes.pod-template-file.*"
_NO_SERVICE = "Spark's driver makes its own service"
_SPARKS_FILES = "Spark's own files are sent, once per application; nearest: spark.yarn.archive"

TITLE = "YARN, Kubernetes, Mesos"
RULES = (
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
