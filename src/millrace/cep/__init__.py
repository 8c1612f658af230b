"""Complex event processing: patterns of events in a stream, with the names of Flink's Java API in Python's spelling."""

from __future__ import annotations

from millrace.cep.cep import CEP
from millrace.cep.discoverers import (
    JDBCPeriodicPatternProcessorDiscoverer,
    PatternProcessorDiscoverer,
    PeriodicPatternProcessorDiscoverer,
)
from millrace.cep.dynamic_stream import DynamicPatternStream
from millrace.cep.explanation import Ended, ExplainedStep, Explanation, PartialMatch, Why
from millrace.cep.pattern import GroupPattern, Pattern
from millrace.cep.pattern_processor import PatternProcessor
from millrace.cep.pattern_stream import PatternStream
from millrace.cep.quantifier import ConsumingStrategy, Quantifier, QuantifierProperty
from millrace.cep.skip import AfterMatchSkipStrategy
from millrace.runtime.cep.conditions import IterativeCondition, RichIterativeCondition, SimpleCondition
from millrace.runtime.cep.description import MalformedPatternException, WithinType
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
