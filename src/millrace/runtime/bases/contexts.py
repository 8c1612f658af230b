"""What the contexts of user functions tell of the operator that calls them."""

from __future__ import annotations

from millrace.common.functions import RuntimeContext
from millrace.metrics.metricbase import MetricGroup
from millrace.runtime.bases.base import Operator


class OfOperator:
    """Mixed into contexts: the clock, the watermark, the metrics, by the names that they have in Flink's contexts."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    get_current_processing_time = current_processing_time
    get_current_watermark = current_watermark

    def get_runtime_context(self) -> RuntimeContext:
        return self._operator.context.runtime

    def get_metric_group(self) -> MetricGroup:
        return self._operator.context.runtime.get_metrics_group()


class OfElement(OfOperator):
    """Mixed into contexts of sinks, in which the operator writes the timestamp before each element."""

    current_timestamp: int | None = None

    def timestamp(self) -> int | None:
        return self.current_timestamp
