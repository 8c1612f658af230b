"""Keys of metrics, traces and events, and of queryable state."""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, works

TITLE = "Metrics"
RULES = (
    works("metrics.reporters metrics.reporter.*", "metrics.reporters", "where metrics go"),
    works("metrics.scope.*", "metrics.scope", "what the names of metrics begin with"),
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
