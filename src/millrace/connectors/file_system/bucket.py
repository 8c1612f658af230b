"""Bucket assigners: which directory below the base path an element goes to."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from typing import Any

from millrace.common.sink import SinkWriterContext
from millrace.connectors.file_system.java_time import java_formatter, java_zone

__all__ = ["BasePathBucketAssigner", "BucketAssigner", "BucketContext", "DateTimeBucketAssigner"]


class BucketContext:
    """What is known about the element at hand."""

    __slots__ = ("_now", "_writer_context")

    _now: int
    _writer_context: SinkWriterContext

    def current_processing_time(self) -> int:
        """The task's clock, ms since the epoch."""
        return self._now

    def current_watermark(self) -> int:
        return self._writer_context.current_watermark()

    def timestamp(self) -> int | None:
        """The element's event timestamp in ms, None when it has none."""
        return self._writer_context.timestamp()


class BucketAssigner(ABC):
    """Chooses a bucket for each element; subclass it to choose by content.

        >>> class ByName(BucketAssigner):
        ...     def get_bucket_id(self, element, context):
        ...         return element[0]
        >>> ByName().get_bucket_id(("Ann", 1), None)
        'Ann'
    """

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The bucket's path relative to the base path, "" for the base path itself; must not contain ``..``."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """One bucket: the base path."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Buckets by the processing time.

        :param format_str: a pattern of Java's ``DateTimeFormatter``.
        :param timezone_id: such as ``Europe/Berlin`` or ``GMT-08:00``; None is the zone of the machine.
        :raises ValueError: for a pattern or a zone that is not understood.
        """
        return DateTimeBucketAssigner(format_str, timezone_id)


class BasePathBucketAssigner(BucketAssigner):
    """Everything goes to the base path."""

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return ""


class DateTimeBucketAssigner(BucketAssigner):
    """The processing time as a directory; see ``BucketAssigner.date_time_bucket_assigner``."""

    def __init__(self, format_str: str, timezone_id: str | None) -> None:
        self._format_str = format_str
        self._timezone_id = timezone_id
        self._prepare()

    def _prepare(self) -> None:
        self._format = java_formatter(self._format_str)
        self._zone = java_zone(self._timezone_id)
        # The same text serves a whole second, unless the pattern has fractions of it.
        self._unit_ms = 1 if "S" in self._format_str else 1000
        self._cached_unit = -1
        self._cached = ""

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        now = context.current_processing_time()
        unit = now // self._unit_ms
        if unit != self._cached_unit:
            moment = dt.datetime.fromtimestamp(now // 1000, self._zone)
            self._cached = self._format(moment.replace(microsecond=now % 1000 * 1000))
            self._cached_unit = unit
        return self._cached

    def __reduce__(self) -> tuple[Any, ...]:
        return DateTimeBucketAssigner, (self._format_str, self._timezone_id)
