"""Complex event processing: patterns of events in a stream, with the names of Flink's Java API in Python's spelling."""

from __future__ import annotations

from millrace.cep.explanation import Ended, ExplainedStep, Explanation, PartialMatch, Why
from millrace.cep.pattern import GroupPattern, Pattern
from millrace.cep.pattern_parts import AfterMatchSkipStrategy, ConsumingStrategy, Quantifier, QuantifierProperty
from millrace.cep.pattern_stream import (
    CEP,
    DynamicPatternStream,
    JDBCPeriodicPatternProcessorDiscoverer,
    PatternProcessor,
    PatternProcessorDiscoverer,
    PatternStream,
    PeriodicPatternProcessorDiscoverer,
)
from millrace.runtime.cep.description import (
    IterativeCondition,
    MalformedPatternException,
    RichIterativeCondition,
    SimpleCondition,
    WithinType,
)
from millrace.runtime.cep.functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "ConsumingStrategy",
    "DynamicPatternStream",
    "Ended",
    "EventComparator",
    "ExplainedStep",
    "Explanation",
    "GroupPattern",
    "IterativeCondition",
    "JDBCPeriodicPatternProcessorDiscoverer",
    "MalformedPatternException",
    "PartialMatch",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternProcessor",
    "PatternProcessorDiscoverer",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "PeriodicPatternProcessorDiscoverer",
    "Quantifier",
    "QuantifierProperty",
    "RichIterativeCondition",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "Why",
    "WithinType",
]
