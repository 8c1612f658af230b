"""``CEP``: looking for a pattern in a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.cep.pattern import Pattern
from millrace.cep.pattern_stream import PatternStream
from millrace.datastream.data_stream import DataStream, expect
from millrace.runtime.cep.functions import EventComparator

__all__ = ["CEP"]


class CEP:
    """The entrance."""

    @staticmethod
    def pattern(
        input: DataStream,
        pattern: Pattern,
        comparator: EventComparator | Callable[[Any, Any], int] | None = None,
    ) -> PatternStream:
        """The matches of a pattern in a stream: in each key of a keyed one by itself, else in all of it.

        :param comparator: the order of events with the same timestamp; None: as they arrive.
        :raises MalformedPatternException: the pattern breaks a rule.
        """
        expect(input, DataStream, "CEP.pattern()")
        expect(pattern, Pattern, "CEP.pattern()")
        return PatternStream(input, pattern.describe(), comparator)
