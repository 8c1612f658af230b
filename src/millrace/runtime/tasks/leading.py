"""Rules before data: the broadcast side of an operator goes first, in flow, as long as that makes sense.

What comes for the other sides meanwhile is taken from its channels and put aside, so that nobody waits for room. It has
its turn when the broadcast side has ended, when a mark has come from it, or when too much lies there. From then on
everything is handed on as it arrives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from millrace.common.source import Boundedness
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.specs import Source
from millrace.runtime.tasks.inbox import Inbox
from millrace.runtime.tasks.waiting import Channel, Waiting

MOST_BYTES = 64 * 1024 * 1024
"""Packets that are put aside."""


class Lead:
    """Of one operator.

    :param inboxes: those of its broadcast side; without any nothing leads.
    :param sources: ids of the sources from which something comes over these.
    """

    def __init__(self, inboxes: Collection[Inbox] = (), sources: Collection[int] = ()) -> None:
        self._inboxes = tuple(inboxes)
        self.channels = frozenset(inbox.channel for inbox in inboxes)
        self.sources = frozenset(sources)
        self.aside: list[Waiting] = []
        self._bytes = 0
        self._over = not inboxes

    def over(self, open_channels: Collection[Channel]) -> bool:
        """Whether all sides have their turn.

        :param open_channels: those of the operator that have not finished.
        """
        if not self._over:
            marked = all(inbox.ended and not inbox for inbox in self._inboxes)
            self._over = marked or self._bytes > MOST_BYTES or self.channels.isdisjoint(open_channels)
        return self._over

    def end(self) -> None:
        """Nothing leads any more."""
        self._over = True

    def put_aside(self, items: Iterable[Waiting], size: int) -> None:
        """What has come for another side, so many bytes."""
        self._bytes += size
        self.aside.extend(items)

    def take_back(self) -> list[Waiting]:
        """What was put aside, in the order in which it came."""
        found, self.aside = self.aside, []
        return found


def lead_of(job: JobGraph, operator: int, inboxes: Sequence[Inbox]) -> Lead:
    """What leads at an operator: its broadcast side, if that comes to an end by itself.

    :param inboxes: those of its channels that come from other tasks.
    """
    leading = [inbox for inbox in inboxes if inbox.channel[0] < job.leading_edges]
    reached = {id for inbox in leading for id in job.above[job.edges[inbox.channel[0]].source]}
    sources = [id for id in reached if job.above[id] == {id}]
    if not leading or not all(_is_bounded(job.by_id[id].spec) for id in sources):
        return Lead()
    return Lead(leading, sources)


def _is_bounded(spec: object) -> bool:
    return isinstance(spec, Source) and spec.source.get_boundedness() is Boundedness.BOUNDED
