"""What waits at the gates of a task when its epoch ends, as a part of its state: a function was too slow for all of it.

It stands beside the operator's own small state, and so comes back wherever that does: after a failure, from savepoints,
and with another parallelism, where each subtask finds its share of what all earlier ones had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, NamedTuple

from millrace.runtime.bases.ahead import Times, times_of_groups
from millrace.runtime.elements import MAX_WATERMARK, Chunk, Status
from millrace.runtime.exchange.codec import Mark, decode, encode
from millrace.runtime.exchange.partitioners import Broadcast, Partitioner, places_of_keys
from millrace.runtime.state.restoring.saved import EarlierState

Channel = tuple[int, int]
"""(edge, sending subtask)"""


class Waiting(NamedTuple):
    """What has arrived at a gate and was not handed on."""

    input: int
    channel: Channel | None
    """None for elements of the same task"""
    content: bytes | Chunk | Mark
    """a packet, or elements, or a mark that came by itself"""

    def packed(self) -> Waiting:
        """The same as a packet."""
        if isinstance(self.content, bytes):
            return self
        if isinstance(self.content, Chunk):
            return self._replace(content=encode(self.content, []))
        return self._replace(content=encode(Chunk([]), [(0, self.content)]))

    def items(self) -> Iterator[Chunk | Mark]:
        """The elements and marks, in order."""
        if isinstance(self.content, bytes):
            yield from decode(self.content)
        else:
            yield self.content


def joined(items: Iterable[Waiting]) -> list[Waiting]:
    """The same in the same order, with one chunk of elements that follow each other, whatever channels of an input
    they came over."""
    found: list[Waiting] = []
    for (input, has_elements), some in groupby(items, lambda each: (each.input, isinstance(each.content, Chunk))):
        run = list(some)
        if has_elements and len(run) > 1:
            chunks = [each.content for each in run if isinstance(each.content, Chunk)]
            values = list(chain.from_iterable(chunk.values for chunk in chunks))
            whole = Chunk(values, _all_of(chunks, "timestamps"), _all_of(chunks, "keys"))
            found.append(Waiting(input, run[0].channel, whole))
        else:
            found += run
    return found


def _all_of(chunks: Sequence[Chunk], name: str) -> list[Any] | None:
    parts = [(getattr(chunk, name), len(chunk)) for chunk in chunks]
    if all(each is None for each, _ in parts):
        return None
    return [value for each, count in parts for value in (each if each is not None else [None] * count)]


@dataclass(frozen=True)
class WithWaiting:
    """The small state of an operator, and what waits at its gate as packets."""

    small: Any
    waiting: tuple[Waiting, ...] = ()
    ahead: Times | None = None
    """how far event time was for each key group, if that is further than it is"""


def parted(small: Any) -> tuple[Any, tuple[Waiting, ...]]:
    """The small state of an operator, and what waits."""
    return (small.small, small.waiting) if isinstance(small, WithWaiting) else (small, ())


def only_waiting(small: Any) -> Any:
    """The same without the operator's own state."""
    return replace(small, small=None) if isinstance(small, WithWaiting) else None


def without_waiting(earlier: EarlierState) -> tuple[EarlierState, list[tuple[Waiting, ...]]]:
    """The state for the operator, and what waited at each of the earlier subtasks."""
    both = [parted(small) for small in earlier.smalls]
    smalls = tuple(small for small, _ in both)
    if all(small is None for small in smalls):
        smalls = ()
    return replace(earlier, smalls=smalls), [waiting for _, waiting in both]


def event_times(earlier: EarlierState, subtask: int, max_parallelism: int) -> Times | None:
    """How far event time was for each key group in the earlier subtasks; None: for all of them as far as the subtask
    begins."""
    marks = earlier.watermarks
    ahead = [small.ahead if isinstance(small, WithWaiting) else None for small in earlier.smalls]
    if not marks:  # as many as before; or another number, in a savepoint of Millrace 0.1, which has one watermark
        return ahead[subtask] if subtask < len(ahead) else None
    if len(set(marks)) == 1 and all(known is None for known in ahead):
        return None
    return times_of_groups(marks, ahead or [None] * len(marks), max_parallelism)


def share(
    waiting: Sequence[tuple[Waiting, ...]],
    subtask: int,
    parallelism: int,
    max_parallelism: int,
    partitioners: Mapping[int, Partitioner],
    channels: Collection[Channel],
) -> Iterator[Waiting]:
    """What of it belongs to one of the subtasks that there are now.

    With as many subtasks as before each has its own. Else elements go where their keys are now; those without keys to
    any one, and of what all subtasks get what the one had whose broadcast state they get. Marks stay out then, as the
    end of the input does in any case: the sources say again how far they are.

    :param waiting: of each earlier subtask.
    :param partitioners: number of an input -> how its elements are spread.
    :param channels: those of the gate.
    """
    if len(waiting) == parallelism:
        yield from (kept for each in waiting[subtask] for kept in _without_ends(each, channels))
        return
    for earlier, all_of_one in enumerate(waiting):
        for each in all_of_one:
            partitioner = partitioners.get(each.input)
            for item in each.items():
                if not isinstance(item, Chunk):
                    continue
                if isinstance(partitioner, Broadcast):
                    same = earlier == subtask % len(waiting)
                    places: Iterable[tuple[int, Chunk]] = [(subtask, item)] if same else []
                else:
                    places = _places(item, partitioner, max_parallelism, parallelism) or [(earlier % parallelism, item)]
                for target, part in places:
                    if target == subtask:
                        yield Waiting(each.input, None, part).packed()


def _without_ends(waiting: Waiting, channels: Collection[Channel]) -> Iterator[Waiting]:
    known = waiting.channel in channels
    for item in waiting.items():
        if isinstance(item, Chunk) or (known and not _is_end(item)):
            yield waiting._replace(content=item).packed()


def _is_end(mark: Mark) -> bool:
    return mark is Status.FINISHED or mark == MAX_WATERMARK


def _places(
    chunk: Chunk, partitioner: Partitioner | None, max_parallelism: int, parallelism: int
) -> Iterable[tuple[int, Chunk]] | None:
    places = None if partitioner is None else partitioner.places(chunk, parallelism)
    if places is None and chunk.keys is not None:
        return places_of_keys(chunk, max_parallelism, parallelism)
    return places
