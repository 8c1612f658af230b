"""Operators that look for patterns: ``PatternStream.process`` and its variants, and ``CEP.dynamic_patterns``.

The first has one pattern and runs its automaton on the events of each key, in the order of time. The second has several
patterns, which messages replace while the job runs. The set of patterns is broadcast state: every subtask gets the same
messages. An old version that may finish its matches stays in a subtask as long as this has partial matches of it; after
a rescale all subtasks take over such versions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import astuple
from operator import itemgetter
from typing import Any

from millrace.common.state import ListStateDescriptor, MapStateDescriptor
from millrace.common.typeinfo import Types
from millrace.runtime.bases.batch_operators import ByKey
from millrace.runtime.cep.description import PatternDescription, PatternReader, PatternUpdate, fingerprint
from millrace.runtime.cep.functions import Match, PatternProcessFunction
from millrace.runtime.cep.key_state import load
from millrace.runtime.cep.nfa import Nfa
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.operators.pattern_base import MATCHES, MatchContext, PatternOperator, PatternRun
from millrace.runtime.operators.two_input_operators import BROADCAST_INPUT, BroadcastFirst
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces

# One pattern

_log = logging.getLogger(__name__)


class MatchPatternOperator(PatternOperator):
    """Looks for one pattern."""

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
        """whether the restored state belongs to another pattern"""

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
        """Restore a snapshot of this same job, and so of the same pattern."""

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
        """The state without partial matches of another pattern; logs how many there were."""
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
    """``MatchPatternOperator`` in batch mode: a key's events wait until all of them have come."""

    def end_keys(self) -> None:
        if self._event_time:
            self.advance(MAX_WATERMARK)
        else:
            self.advance_processing_time(self.context.clock() + 1)
        self.backend.wipe()
        self._pattern_run.forget()


# Patterns that change while the job runs

_FIELDS = Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING(), Types.STRING()])
PATTERNS = MapStateDescriptor("patterns", Types.STRING(), _FIELDS)
ENDING = ListStateDescriptor("ending-patterns", _FIELDS)
Version = tuple[str, int]


class MatchPatternsContext(MatchContext):
    """What the user's function sees of a match, with the id and version of its pattern."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self.update = PatternUpdate("", 0, None)

    def pattern_id(self) -> str | None:
        return self.update.id

    def pattern_version(self) -> int | None:
        return self.update.version

    def function_name(self) -> str:
        return self.update.function


class MatchPatternsOperator(PatternOperator):
    """Looks for several patterns, which messages on input 1 replace while the job runs.

    :param finish: whether an old version finishes the matches that it has begun; else these are dropped.
    :param refused_tag: side output for (id, version, reason) of patterns that can't be used; None: such a pattern fails
        the job.
    """

    def __init__(
        self,
        reader: PatternReader,
        function: PatternProcessFunction,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: str | None = None,
        refused_tag: str | None = None,
        finish: bool = False,
    ) -> None:
        super().__init__(function, event_time, comparator, late_tag)
        self._reader, self._refused_tag, self._finish = reader, refused_tag, finish

    def new_context(self) -> MatchPatternsContext:
        self._seen = MatchPatternsContext(self.context.clock)
        return self._seen

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._operator_state = states = self._operator_state or OperatorStateBackend()
        self._known = states.get_broadcast_state(PATTERNS)
        self._ending = states.get_union_list_state(ENDING)
        self._running: dict[Version, PatternRun] = {}
        self._updates: dict[Version, PatternUpdate] = {}
        self._ended_since = False

    def runs(self) -> Sequence[PatternRun]:
        return tuple(self._running.values())

    def open(self) -> None:
        metrics = self.context.runtime.get_metrics_group()
        metrics.gauge("numPatterns", lambda: len(self._running))
        self._dropped = metrics.counter("numPartialMatchesDropped")
        self._ignored = metrics.counter("numPatternUpdatesIgnored")
        super().open()
        for fields in list(self._known.values()):
            self._go_on(PatternUpdate(*fields))
        for fields in dict.fromkeys(map(tuple, self._ending.get())):
            if fields[:2] not in self._running:
                self._go_on(PatternUpdate(*fields)).begins = False
        self._plan()

    def _go_on(self, update: PatternUpdate) -> PatternRun:
        try:
            return self._start(update)
        except Exception as error:
            raise self.context.error(error, during=f" to go on with the pattern {update.id!r} of its state") from error

    def close(self) -> None:
        for run in self.runs():
            run.nfa.close()
        super().close()

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._plan()

    def _plan(self) -> None:
        for run in self.runs():
            run.plan()

    def before_snapshot(self, checkpoint_id: int) -> None:
        super().before_snapshot(checkpoint_id)
        if self._ended_since:
            self._ended_since = False
            self._ending.update(
                [astuple(self._updates[version]) for version, run in self._running.items() if not run.begins]
            )

    # Messages

    def process(self, chunk: Chunk, input: int) -> None:
        if input != BROADCAST_INPUT:
            super().process(chunk, input)
            return
        for message in chunk.values:
            self._hear(message)

    def _hear(self, message: Any) -> None:
        try:
            found = self._reader.updates(message)
        except Exception as error:
            self._refuse(PatternUpdate("", 0, None), error, message)
            return
        for update in found.updates:
            try:
                self._change(update, found.whole)
            except Exception as error:
                self._refuse(update, error, message)
        if found.whole:
            ids = {update.id for update in found.updates}
            for id in [id for id in self._known.keys() if id not in ids]:  # noqa: SIM118 - a state is no dict
                self._end(id)

    def _refuse(self, update: PatternUpdate, error: Exception, message: Any) -> None:
        if self._refused_tag is None:
            raise self.context.error(error, message, " in a message about patterns") from error
        reason = f"{type(error).__name__}: {error}"
        self.emit_side(self._refused_tag, [(update.id, update.version, reason)], None)

    def _change(self, update: PatternUpdate, whole: bool) -> None:
        """Apply an update. :raises ValueError: it can't be used; nothing has changed then."""
        current = self._current(update.id)
        if update.pattern is None:
            if current is not None:
                self._end(update.id)
            return
        if current is not None:
            if update == current:
                return
            if update.version == current.version:
                raise ValueError(
                    f"pattern {update.id!r} is known in version {update.version}, with another text or function: a "
                    f"change needs another version"
                )
            if update.version < current.version and not whole:
                self._ignored.inc()
                return
        version = (update.id, update.version)
        again = self._running.get(version)
        if again is not None and self._updates[version] == update:
            self._end(update.id)
            again.begins = True
        else:
            nfa = self._nfa(update)
            if again is not None:
                self._stop(version)
            self._end(update.id)
            self._add(update, nfa)
        self._ended_since = True
        self._known.put(update.id, astuple(update))

    def _current(self, id: str) -> PatternUpdate | None:
        fields = self._known.get(id)
        return None if fields is None else PatternUpdate(*fields)

    def _end(self, id: str) -> None:
        """Stop looking for the current version of a pattern."""
        current = self._current(id)
        if current is None:
            return
        self._known.remove(id)
        version = (id, current.version)
        if self._finish and self._running[version].partial_matches:
            self._running[version].begins = False
            self._ended_since = True
        else:
            self._stop(version)

    def _stop(self, version: Version) -> None:
        run = self._running.pop(version)
        del self._updates[version]
        self._dropped.inc(run.drop())
        run.nfa.close()
        self._ended_since = True

    # Patterns at work

    def _nfa(self, update: PatternUpdate) -> Nfa:
        nfa = Nfa(self._reader.pattern(update), self.context.clock, timeouts=self.hears_timeouts)
        nfa.open(self.context.runtime)
        return nfa

    def _start(self, update: PatternUpdate) -> PatternRun:
        return self._add(update, self._nfa(update))

    def _add(self, update: PatternUpdate, nfa: Nfa) -> PatternRun:
        version = (update.id, update.version)
        name = f"{MATCHES} of {update.id} in version {update.version}"

        def tell(match: Match, time: int) -> None:
            self._seen.update = update
            self.tell(match, time)

        def timed_out(match: Match, time: int) -> None:
            self._seen.update = update
            self.tell_timeout(match, time)

        run = PatternRun(nfa, self.backend, name, self._event_time, tell, timed_out if self.hears_timeouts else None)
        self._updates[version] = update
        # Sorted by id and version, so that the order is the same after a restore.
        self._running = dict(sorted([*self._running.items(), (version, run)], key=itemgetter(0)))
        return run

    def _run(self, keys: list[Any], times: list[int], values: list[Any], until: int | None) -> None:
        super()._run(keys, times, values, until)
        for version, run in list(self._running.items()):
            if not run.begins and not run.partial_matches:
                self._stop(version)


class BatchMatchPatternsOperator(BroadcastFirst, MatchPatternsOperator):
    """``MatchPatternsOperator`` in batch mode: the messages come first."""
