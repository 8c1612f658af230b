"""Several functions that hear of matches, each by its name in the patterns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.functions.base import RuntimeContext
from millrace.runtime.cep.functions import (
    Match,
    PatternContext,
    PatternProcessFunction,
    Results,
    TimedOutPartialMatchHandler,
)


class NamedFunctions(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Calls the function that the pattern at hand names."""

    def __init__(self, functions: Mapping[str, PatternProcessFunction]) -> None:
        self._functions = dict(functions)

    def open(self, runtime_context: RuntimeContext) -> None:
        for function in self._functions.values():
            function.open(runtime_context)

    def close(self) -> None:
        for function in self._functions.values():
            function.close()

    def process_match(self, match: Match, ctx: PatternContext) -> Results:
        return self._at_hand(ctx).process_match(match, ctx)

    def process_timed_out_match(self, match: Match, ctx: PatternContext) -> Results:
        function: Any = self._at_hand(ctx)
        if isinstance(function, TimedOutPartialMatchHandler):
            return function.process_timed_out_match(match, ctx)
        return None

    def _at_hand(self, ctx: Any) -> PatternProcessFunction:
        return self._functions[ctx.function_name()]
