"""Windows with an evictor: the elements are kept, and some leave before or after the window function sees them."""

from __future__ import annotations

from typing import Any

from millrace.common.functions import ProcessWindowFunction
from millrace.common.state import ListStateDescriptor, StateDescriptor
from millrace.common.typeinfo import Types
from millrace.common.window import Evictor, TimestampedValue
from millrace.runtime.bases.by_key import EndingTimers
from millrace.runtime.bases.contexts import OfOperator
from millrace.runtime.bases.process_base import Results
from millrace.runtime.state.address import Scoped
from millrace.runtime.windows.contents import fold_of
from millrace.runtime.windows.strategy import CONTENTS, WindowStrategy
from millrace.runtime.windows.window import WindowOperator


class EvictingWindowOperator(WindowOperator):
    """Keeps every element with its timestamp; what is left after eviction is folded when the window fires."""

    def __init__(self, strategy: WindowStrategy, function: ProcessWindowFunction[Any, Any, Any, Any]) -> None:
        assert strategy.evictor is not None
        super().__init__(strategy, function)
        self._evictor: Evictor[Any, Any] = strategy.evictor

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._fold = fold_of(self.strategy.contents)
        self._evictor_context = _EvictorContext(self)

    def _stored_as(self) -> StateDescriptor:
        return ListStateDescriptor(CONTENTS, Types.PICKLED_BYTE_ARRAY())

    def _kept(self, value: Any, timestamp: int | None) -> Any:
        return TimestampedValue(value, timestamp)

    def _evaluate_contents(self, at: Scoped, timestamp: int | None, found: Results) -> None:
        elements = list(self._contents.get())
        if not elements:
            return
        key, window = at
        stored, context, evictor = self._states.at, self._evictor_context, self._evictor
        evictor.evict_before(elements, len(elements), window, context)
        contents = self._folded([element.get_value() for element in elements])
        if contents is not None:
            self.evaluate(key, window, contents, timestamp, found)
        evictor.evict_after(elements, len(elements), window, context)
        self._states.at = stored
        self._contents.update(elements)

    def _folded(self, values: list[Any]) -> list[Any] | None:
        """What the window function is given; None if it isn't called, since there is nothing to fold."""
        fold = self._fold
        if not values:
            return [] if isinstance(self.strategy.contents, ListStateDescriptor) else None
        accumulator = fold.first(values[0])
        for value in values[1:]:
            accumulator = fold.add(value, accumulator)
        result = fold.result(accumulator)
        return None if result is None else list(result)


class BatchEvictingWindowOperator(EndingTimers, EvictingWindowOperator):
    """The same in batch mode."""


class _EvictorContext(OfOperator, Evictor.EvictorContext): ...
