"""After a match: which partial matches, and matches not told yet, are dropped."""

from __future__ import annotations

from millrace.runtime.cep.description import Skip, SkipKind
from millrace.runtime.cep.key_state import Partial
from millrace.runtime.cep.paths import ID, PAGE, TIME, EventId, path


class SkipError(RuntimeError):
    """A match has no event to skip to, and the strategy says that this is an error."""


class Skipping:
    """A skip strategy at work."""

    def __init__(self, skip: Skip) -> None:
        self._kind, self._name, self._throw = skip.kind, skip.name, skip.throw_on_miss
        self.skips = skip.kind is not SkipKind.NO_SKIP
        self.inclusive = skip.kind in (SkipKind.SKIP_TO_NEXT, SkipKind.SKIP_PAST_LAST_EVENT)
        """whether what begins with the event of ``until`` is dropped, too"""

    def until(self, match: Partial) -> EventId | None:
        """What begins before this event is dropped; None: nothing is.

        :raises SkipError: there is no such event in the match, or it is the first one.
        """
        _, link, first, first_id = match
        if self._kind is SkipKind.SKIP_PAST_LAST_EVENT:
            return link[TIME], link[ID]
        if self._kind is SkipKind.SKIP_TO_NEXT:
            return first, first_id
        named = [(each[TIME], each[ID]) for each in path(link) if each[PAGE] == self._name]
        found = None
        if named:
            found = named[0 if self._kind is SkipKind.SKIP_TO_FIRST else -1]
        elif self._throw:
            raise SkipError(f"Could not skip to {self._name}. No such element in the found match")
        if self._throw and found == (first, first_id):
            raise SkipError(f"Could not skip to {self._name}: it is the first element of the match")
        return found
