"""A source in a job of its own: readers that last, checkpoints, crashes, other parallelisms."""

from __future__ import annotations

import contextlib
import pickle
from dataclasses import dataclass
from typing import Any

from millrace.common.source import InputStatus, Source, SourceReader
from millrace.testing.connectors.driving import Clock, Collected, EnumeratorContext, ReaderContext

POLLS = 50
"""of one reader in an epoch, at most"""


@dataclass(frozen=True)
class Checkpoint:
    """What is left of a job: pickled state, and what was emitted before it."""

    state: bytes
    emitted: tuple[Any, ...]


class SourceJob:
    """One life of a job that reads a source.

    :param checkpoint: where it goes on; None: a fresh start. Its splits are dealt out anew.
    """

    def __init__(self, source: Source[Any, Any], parallelism: int = 1, checkpoint: Checkpoint | None = None) -> None:
        self._clock = Clock()
        self._parallelism = parallelism
        source = pickle.loads(pickle.dumps(source))
        planned, splits = (None, []) if checkpoint is None else pickle.loads(checkpoint.state)
        self.emitted: list[Any] = [] if checkpoint is None else list(checkpoint.emitted)
        self._epoch = 0
        self._context = EnumeratorContext(parallelism, self._clock)
        self._enumerator = source.create_enumerator(self._context, planned)
        self._contexts = [ReaderContext(subtask, parallelism, self._clock) for subtask in range(parallelism)]
        self._readers = [source.create_reader(context) for context in self._contexts]
        self._ended = [False] * parallelism
        self._told: set[int] = set()
        self._recorded: int | None = None
        self._enumerator.start()
        for subtask, reader in enumerate(self._readers):
            reader.start()
            share = splits[subtask::parallelism]
            if share:
                reader.add_splits(share)

    @property
    def ended(self) -> bool:
        return all(self._ended)

    def epoch(self, polls: int = POLLS) -> int:
        """Plan, then let every reader poll; how many elements came."""
        self._epoch += 1
        self._plan()
        outputs = [Collected() for _ in self._readers]
        for subtask, reader in enumerate(self._readers):
            if self._recorded is not None:
                reader.notify_checkpoint_complete(self._recorded)
            for _ in range(polls):
                if self._ended[subtask]:
                    break
                status = reader.poll_next(outputs[subtask])
                self._ended[subtask] = status is InputStatus.END_OF_INPUT
                if status is not InputStatus.MORE_AVAILABLE:
                    break
            reader.end_epoch(outputs[subtask], self._epoch)
        self._recorded = None
        found = [record for output in outputs for record in output.records]
        self.emitted += found
        return len(found)

    def checkpoint(self) -> Checkpoint:
        """Record where the job stands; readers hear of it with the next epoch."""
        planned = self._enumerator.snapshot_state(self._epoch)
        splits = [split for reader in self._readers for split in reader.snapshot_state(self._epoch)]
        for reader in self._readers:
            reader.snapshot_taken()
        self._recorded = self._epoch
        return Checkpoint(pickle.dumps((planned, splits)), tuple(self.emitted))

    def leave(self) -> list[SourceReader[Any, Any]]:
        """Forget the readers where they stand: none is closed, and they may go on. The enumerator ends."""
        readers, self._readers = self._readers, []
        self._enumerator.close()
        return readers

    def close(self) -> None:
        for reader in self.leave():
            reader.close()

    def _plan(self) -> None:
        for subtask, told in enumerate(self._contexts):
            events, told.events = told.events, []
            for event in events:
                self._enumerator.handle_source_event(subtask, event)
        assigned = -1
        while assigned != (assigned := sum(map(len, self._context.assigned.values()))):
            for subtask in range(self._parallelism):
                self._enumerator.handle_split_request(subtask)
        news, self._context.events = self._context.events, []
        for subtask, event in news:
            self._readers[subtask].handle_source_events(event)
        for subtask, splits in self._context.assigned.items():
            self._readers[subtask].add_splits(pickle.loads(pickle.dumps(splits)))
        self._context.assigned.clear()
        for subtask in self._context.no_more - self._told:
            self._readers[subtask].notify_no_more_splits()
        self._told |= self._context.no_more


def haunt(readers: list[SourceReader[Any, Any]], polls: int = 5) -> None:
    """Let readers go on of which the job knows nothing any more, then end them."""
    for reader in readers:
        with contextlib.suppress(Exception):
            for _ in range(polls):
                reader.poll_next(Collected())
        with contextlib.suppress(Exception):
            reader.close()
