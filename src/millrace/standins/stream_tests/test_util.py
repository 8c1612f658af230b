"""``pyflink.datastream.tests.test_util``: a sink whose elements a test gets back."""

from __future__ import annotations

from typing import Any

from millrace.common.watermark_strategy import TimestampAssigner
from millrace.standins.stream_tests.collecting import CollectingSink

__all__ = ["DataStreamTestSinkFunction", "SecondColumnTimestampAssigner"]


class DataStreamTestSinkFunction(CollectingSink):
    """Keeps what it is given in the process of the program."""

    def get_results(self, is_python_object: bool = False, stringify: bool = True) -> list[Any]:
        """What came since the last call.

        :param is_python_object: the values as Python has them, not the text that Java would have for them.
        :param stringify: their ``str()``.
        """
        pairs = self.take()
        if not is_python_object:
            return [text for text, _ in pairs]
        return [str(value) if stringify else value for _, value in pairs]

    def clear(self) -> None:
        self.take()


class SecondColumnTimestampAssigner(TimestampAssigner):
    """Elements have their time, ms, in the second place."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])
