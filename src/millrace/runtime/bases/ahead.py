"""How far event time was for keys whose subtask was further than the one they are in now.

Subtasks of one operator stand at different watermarks while something waits at the gates of some. With another number
of subtasks one gets keys of several: it begins at the lowest of their watermarks, so what waits is in time, and goes by
this for the keys that were further. Their windows have fired, and what comes for these is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk
from millrace.runtime.exchange.keygroups import group_range, key_group
from millrace.runtime.exchange.partitioners import Partitioner, places_of_keys

Times = tuple[int, ...]
"""key group -> how far event time was for its keys (ms)"""
EventTimeOf = Callable[[Any], int]
"""key -> how far event time was for it (ms)"""


class Ahead:
    """Of one subtask, as long as its watermark is behind that of some keys.

    :param watermark: how far it is for all keys (ms).
    """

    def __init__(self, times: Times, watermark: int) -> None:
        self.times = times
        self._furthest = max(times, default=MIN_TIMESTAMP)
        self.watermark = watermark

    @property
    def is_over(self) -> bool:
        """Whether no key is further than the others any more."""
        return self._furthest <= self.watermark

    def of_key(self, key: Any) -> int:
        """How far event time was for a key (ms)."""
        return self.times[key_group(key, len(self.times))]

    def parts(self, chunk: Chunk, partitioner: Partitioner | None) -> Iterator[tuple[int, Chunk]]:
        """(watermark, the elements that come at it), those of one key in order.

        :param partitioner: how the elements were spread.
        """
        groups = None if partitioner is None else partitioner.groups(chunk)
        if groups is None and chunk.keys is not None:  # from an operator of the same task
            groups = places_of_keys(chunk, len(self.times), len(self.times))
        if groups is None:
            yield self.watermark, chunk
            return
        for group, part in groups:
            yield max(self.watermark, self.times[group]), part


def event_time_of(times: Times | None, watermark: int) -> EventTimeOf:
    """How far event time was for a key (ms).

    :param times: None: it was as far as the watermark for all.
    """
    if times is None:
        return lambda key: watermark
    return Ahead(times, watermark).of_key


def times_of_groups(watermarks: Sequence[int], ahead: Sequence[Times | None], max_parallelism: int) -> Times:
    """How far event time was for each key group.

    :param watermarks: of all earlier subtasks.
    :param ahead: what each of them knew of its keys itself.
    """
    times: list[int] = []
    for subtask, (watermark, known) in enumerate(zip(watermarks, ahead)):
        for group in group_range(subtask, max_parallelism, len(watermarks)):
            if watermark == MAX_WATERMARK:
                times.append(MIN_TIMESTAMP)  # what had ended begins again
            else:
                times.append(watermark if known is None else max(watermark, known[group]))
    return tuple(times)
