"""Assigners of timestamps and watermarks in one object, as before ``WatermarkStrategy``."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any

from millrace.common.constants import MIN_LONG_VALUE
from millrace.common.time import TimeSpan, to_millis
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from millrace.legacy.warning import tell

__all__ = [
    "AscendingTimestampExtractor",
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPunctuatedWatermarks",
    "BoundedOutOfOrdernessTimestampExtractor",
]


class _Assigner(WatermarkStrategy):
    """A strategy that is its own assigner. Generators get copies, since each subtask has its own watermarks."""

    def __init__(self) -> None:
        """A strategy's fields have their defaults; subclasses have fields of their own."""

    @property
    def timestamp_assigner(self) -> TimestampAssigner:
        return Extraction(copy.copy(self))

    @abstractmethod
    def extract_timestamp(self, element: Any, previous_element_timestamp: int) -> int:
        """The timestamp of an element, in ms since the epoch."""

    def is_without_time(self) -> bool:
        return False


class Extraction(TimestampAssigner):
    """The part of an assigner that extracts timestamps."""

    def __init__(self, assigner: _Assigner) -> None:
        self._assigner = assigner

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._assigner.extract_timestamp(value, record_timestamp)


class AssignerWithPeriodicWatermarks(_Assigner):
    """An assigner whose watermark is read periodically."""

    @abstractmethod
    def get_current_watermark(self) -> int | None:
        """The watermark in ms, None for none yet."""

    def create_generator(self) -> WatermarkGenerator:
        tell("AssignerWithPeriodicWatermarks", "WatermarkStrategy.for_bounded_out_of_orderness(...)")
        return PeriodicWatermarks(copy.copy(self))


class AssignerWithPunctuatedWatermarks(_Assigner):
    """An assigner whose watermark is read after every element."""

    @abstractmethod
    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> int | None:
        """The watermark in ms that the element brings, None for none."""

    def create_generator(self) -> WatermarkGenerator:
        tell("AssignerWithPunctuatedWatermarks", "WatermarkStrategy.for_generator(...)")
        return PunctuatedWatermarks(copy.copy(self))


class PeriodicWatermarks(WatermarkGenerator):
    """The part of a periodic assigner that generates watermarks. It sees every element, since it has state of its
    own."""

    def __init__(self, assigner: AssignerWithPeriodicWatermarks) -> None:
        self._assigner = assigner

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self._assigner.extract_timestamp(event, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        watermark = self._assigner.get_current_watermark()
        if watermark is not None:
            output.emit_watermark(watermark)


class PunctuatedWatermarks(WatermarkGenerator):
    """The part of a punctuated assigner that generates watermarks."""

    def __init__(self, assigner: AssignerWithPunctuatedWatermarks) -> None:
        self._assigner = assigner

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        watermark = self._assigner.check_and_get_next_watermark(event, event_timestamp)
        if watermark is not None:
            output.emit_watermark(watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Does nothing: watermarks are emitted with the elements."""


class BoundedOutOfOrdernessTimestampExtractor(AssignerWithPeriodicWatermarks):
    """The greatest timestamp less a delay. A subclass has ``extract_timestamp``."""

    def __init__(self, max_out_of_orderness: TimeSpan) -> None:
        self.__dict__.update(delay=to_millis(max_out_of_orderness), greatest=MIN_LONG_VALUE)
        if to_millis(max_out_of_orderness) < 0:
            raise ValueError(f"max_out_of_orderness must not be negative, got {max_out_of_orderness}")

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        given = cls.__dict__.get("extract_timestamp")
        if given is not None:
            cls.extract_timestamp = _remembered(given)  # type: ignore[method-assign]

    def get_current_watermark(self) -> int | None:
        greatest, delay = self.__dict__["greatest"], self.__dict__["delay"]
        return None if greatest == MIN_LONG_VALUE else greatest - delay


class AscendingTimestampExtractor(BoundedOutOfOrdernessTimestampExtractor):
    """The greatest timestamp less 1 ms. A subclass has ``extract_timestamp``, which ascends."""

    def __init__(self) -> None:
        self.__dict__.update(delay=1, greatest=MIN_LONG_VALUE)


def _remembered(extract: Any) -> Any:
    """``extract_timestamp`` that keeps the greatest one; older versions give it the element only."""
    takes_previous = extract.__code__.co_argcount > 2

    def extract_timestamp(self: Any, element: Any, previous_element_timestamp: int = MIN_LONG_VALUE) -> int:
        found: int = extract(self, element, previous_element_timestamp) if takes_previous else extract(self, element)
        self.__dict__["greatest"] = max(self.__dict__["greatest"], found)
        return found

    return extract_timestamp
