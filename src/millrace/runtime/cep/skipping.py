"""After a match: which partial matches, and matches not told yet, are dropped."""

from __future__ import annotations

from millrace.runtime.cep.buffer import ID, PAGE, TIME, EventId, Node
from millrace.runtime.cep.description import Skip, SkipKind


class SkipError(RuntimeError):
    """A match has no event to skip to, and the strategy says that this is an error."""


class Skipping:
    """A skip strategy at work."""

    def __init__(self, skip: Skip) -> None:
        self._kind, self._name, self._throw = skip.kind, skip.name, skip.throw_on_miss
        self.skips = skip.kind is not SkipKind.NO_SKIP
        self.inclusive = skip.kind in (SkipKind.SKIP_TO_NEXT, SkipKind.SKIP_PAST_LAST_EVENT)
        """whether what begins with the event of ``until`` is dropped, too"""

    def until(self, paths: list[list[Node]]) -> EventId | None:
        """What begins before this event is dropped; None: nothing is.

        :raises SkipError: there is no such event in the match, or it is the first one.
        """
        found: EventId | None = None
        for path in paths:
            ids = [(node[TIME], node[ID]) for node in path]
            if self._kind is SkipKind.SKIP_TO_NEXT:
                found = min(ids) if found is None else min(found, *ids)
            elif self._kind is SkipKind.SKIP_PAST_LAST_EVENT:
                found = max(ids) if found is None else max(found, *ids)
            else:
                found = self._element(path, ids, found)
        return found

    def _element(self, path: list[Node], ids: list[EventId], found: EventId | None) -> EventId | None:
        named = [event for event, node in zip(ids, path) if node[PAGE] == self._name]
        if named:
            here = named[0 if self._kind is SkipKind.SKIP_TO_FIRST else -1]
            found = here if found is None else max(found, here)
        elif self._throw:
            raise SkipError(f"Could not skip to {self._name}. No such element in the found match")
        if self._throw and found == min(ids):
            raise SkipError(f"Could not skip to {self._name}: it is the first element of the match")
        return found
