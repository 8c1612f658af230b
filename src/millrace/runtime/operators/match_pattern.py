"""``PatternStream.process`` and its siblings: the automaton on the events of each key, in the order of time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from millrace.runtime.bases.by_key import ByKey
from millrace.runtime.cep.description import PatternDescription
from millrace.runtime.cep.fingerprint import fingerprint
from millrace.runtime.cep.functions import PatternProcessFunction
from millrace.runtime.cep.key_state import load
from millrace.runtime.cep.nfa import Nfa
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.operators.matching.base import MATCHES, PatternOperator
from millrace.runtime.operators.matching.run import PatternRun
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces

_log = logging.getLogger(__name__)


class MatchPatternOperator(PatternOperator):
    """One pattern."""

    def __init__(
        self,
        pattern: PatternDescription,
        function: PatternProcessFunction,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: str | None = None,
    ) -> None:
        super().__init__(function, event_time, comparator, late_tag)
        self._pattern = pattern
        self._of_another = False
        """whether what is taken over is of another pattern"""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        nfa = Nfa(self._pattern, context.clock, timeouts=self.hears_timeouts)
        timed_out = self.tell_timeout if self.hears_timeouts else None
        self._pattern_run = PatternRun(nfa, self.backend, MATCHES, self._event_time, self.tell, timed_out)
        self._fingerprint = fingerprint(self._pattern)

    def runs(self) -> Sequence[PatternRun]:
        return (self._pattern_run,)

    def open(self) -> None:
        try:
            self._pattern_run.nfa.open(self.context.runtime)
        except Exception as error:
            raise self.context.error(error, during=" in open() of a condition") from error
        super().open()
        self._pattern_run.plan()

    def close(self) -> None:
        if self._opened:
            self._pattern_run.nfa.close()
        super().close()

    # State of earlier runs

    def snapshot(self) -> Any:
        return self._fingerprint

    def restore(self, snapshot: Any) -> None:
        """The pattern is the same: a job's own snapshots are of this very program."""

    def take_over(self, earlier: EarlierState) -> None:
        self._of_another = any(before not in (None, self._fingerprint) for before in earlier.smalls)
        if self._of_another and not earlier.may_drop:
            raise ValueError(
                "its partial matches are of another pattern, and can't go on with this one: keep names, order, "
                "quantifiers and windows of the patterns as they were, or allow to drop them "
                "(--allowNonRestoredState): then it begins without, and events that wait for the watermark are kept"
            )
        super().take_over(earlier)

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(self._without_matches(pieces) if self._of_another else pieces)
        self._pattern_run.plan()

    def _without_matches(self, pieces: KeyedPieces) -> KeyedPieces:
        """What is not of the pattern; says how much was."""
        keys = partials = 0
        for piece in pieces:
            _, dropped = piece.get(MATCHES, (None, {}))
            keys += len(dropped)
            partials += sum(len(load(stored).partials) for stored in dropped.values())
            yield {name: state for name, state in piece.items() if name != MATCHES}
        self.context.runtime.get_metrics_group().counter("numPartialMatchesDropped").inc(partials)
        _log.warning(
            "%s: %s partial matches of %s keys are of another pattern than this one, and are dropped",
            self.context.name,
            partials,
            keys,
        )


class BatchMatchPatternOperator(ByKey, MatchPatternOperator):
    """The same in batch mode: a key's events wait until all of them have come."""

    def end_keys(self) -> None:
        if self._event_time:
            self.advance(MAX_WATERMARK)
        else:
            self.advance_processing_time(self.context.clock() + 1)
        self.backend.wipe()
        self._pattern_run.forget()
