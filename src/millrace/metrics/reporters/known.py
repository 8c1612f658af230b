"""From the class names of Flink's reporters to ours, and to classes of one's own."""

from __future__ import annotations

import importlib

from millrace.metrics.reporters.contract import MetricReporter

__all__ = ["reporter_class"]

_HERE = "millrace.metrics.reporters"
_FLINKS = "org.apache.flink.metrics."
_OURS = {
    "prometheus.PrometheusReporter": f"{_HERE}.prometheus:PrometheusReporter",
    "prometheus.PrometheusPushGatewayReporter": f"{_HERE}.push_gateway:PushGatewayReporter",
    "statsd.StatsDReporter": f"{_HERE}.statsd:StatsDReporter",
    "datadog.DatadogHttpReporter": f"{_HERE}.datadog:DatadogReporter",
    "influxdb.InfluxdbReporter": f"{_HERE}.influxdb:InfluxdbReporter",
    "graphite.GraphiteReporter": f"{_HERE}.graphite:GraphiteReporter",
    "otel.OpenTelemetryMetricReporter": f"{_HERE}.opentelemetry:OpenTelemetryReporter",
    "ganglia.GangliaReporter": f"{_HERE}.ganglia:GangliaReporter",
    "slf4j.Slf4jReporter": f"{_HERE}.log:LogReporter",
}
_JMX = "jmx.JMXReporter"


def reporter_class(name: str) -> type[MetricReporter]:
    """The class of a reporter: Flink's name of it, or of its factory, or ``module:Class`` for one of your own.

    :raises ValueError: there is no such class, or it is no reporter.
    """
    text = name.strip()
    flinks = text.removeprefix(_FLINKS).removesuffix("Factory")
    if text.startswith(_FLINKS) and flinks == _JMX:
        raise ValueError(
            "there is no JMX reporter: metrics live in Python, without MBeans. Nearest: Spark's own metrics, "
            "with spark.metrics.conf.*.sink.jmx.class=org.apache.spark.metrics.sink.JmxSink and "
            "-Dcom.sun.management.jmxremote.port in spark.driver.extraJavaOptions; for these metrics "
            "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
        )
    if text.startswith(_FLINKS):
        if flinks not in _OURS:
            raise ValueError(f"no reporter {text!r}; there are: {', '.join(f'{_FLINKS}{own}Factory' for own in _OURS)}")
        text = _OURS[flinks]
    module, colon, attribute = text.partition(":")
    if not colon:
        raise ValueError(f"no reporter {text!r}: name a class of Flink's, or one of your own as module:Class")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"no reporter {text!r}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, MetricReporter)):
        raise ValueError(f"{text!r} is no class that extends {MetricReporter.__module__}.{MetricReporter.__name__}")
    return found
