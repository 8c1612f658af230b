"""What a task measures of itself: where its time goes, and which keys have a large share of its input.

The stopwatch counts time for one slot at a time; changing slots costs a look at the clock. Heavy keys are found by a
bounded sketch of a sample, space-saving (Metwally and others, 2005): it has a fixed number of counters, and a key
without one takes over the smallest counter, with its count as the largest possible error. The shown share is the
certain one: the count without that error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from time import perf_counter_ns
from typing import Any, TypeVar

from millrace.relational.rows import Rows
from millrace.runtime.bases.epoch_protocol import OperatorTimes, TaskTimes
from millrace.runtime.exchange.partitioners import Hash, Partitioner
from millrace.runtime.failure import shorten
from millrace.runtime.tables.exchange import ByColumns

T = TypeVar("T")

# Time

REST, OTHER, READING, PASSING, RECORDING, WAITING, PRESSED = range(7)
"""Slots of the task as a whole: between epochs; none of the others; waiting for packets; packets for later stages;
writing state; a source that has nothing; in flow: waiting for credit."""
_WHOLE = 7
_PARTS = 3
"""The number of slots of each operator: at work, sorting its output by receiver, and waiting until the output is
taken."""


class Stopwatch:
    """Measures where the time of one task goes. Its threads use it in turn."""

    __slots__ = ("_current", "_since", "spent")

    def __init__(self, operators: int) -> None:
        self.spent = [0] * (_WHOLE + _PARTS * operators)
        """slot -> nanoseconds"""
        self._current = REST
        self._since = perf_counter_ns()

    def switch(self, slot: int) -> int:
        """Count time for this slot from now on; returns the slot before."""
        now = perf_counter_ns()
        before = self._current
        self.spent[before] += now - self._since
        self._since = now
        self._current = slot
        return before

    def during(self, slot: int) -> During:
        """A context whose time counts for this slot."""
        return During(self, slot)

    def each(self, items: Iterable[T], slot: int) -> Iterator[T]:
        """The items; the time that passes until the next one is there counts for this slot."""
        coming, end = iter(items), object()
        while True:
            with self.during(slot):
                item: Any = next(coming, end)
            if item is end:
                return
            yield item

    def move(self, source: int, target: int, nanoseconds: int) -> None:
        """Move time that was counted for the wrong slot (ns)."""
        self.spent[source] -= nanoseconds
        self.spent[target] += nanoseconds

    def of_operator(self, number: int) -> OperatorTimes:
        """The time of an operator since ``start``, in microseconds."""
        return of_operator(self.spent, number)

    def so_far(self) -> list[int]:
        """Slot -> nanoseconds since ``start``, including the current slot; from any thread."""
        spent = list(self.spent)
        spent[self._current] += max(perf_counter_ns() - self._since, 0)
        return spent

    def of_task(self) -> TaskTimes:
        """The time of the task outside its operators since ``start``, in microseconds."""
        spent = self.spent
        return TaskTimes(
            spent[READING] // 1000,
            spent[PASSING] // 1000,
            spent[RECORDING] // 1000,
            spent[WAITING] // 1000,
            spent[OTHER] // 1000,
        )

    def start(self) -> None:
        """Begin a new epoch. Time spent between epochs is included, because it belongs to this epoch."""
        self.switch(OTHER)
        self.spent[REST] = 0

    def stop(self) -> None:
        """The epoch has ended and was reported."""
        self.switch(REST)
        self.spent = [0] * len(self.spent)


class During:
    """A context whose time counts for one slot, and after it again for the slot of before. It times gates and forks,
    and whatever a task does with its operators. It may be entered again, but not inside itself."""

    __slots__ = ("_before", "_slot", "_watch")

    def __init__(self, watch: Stopwatch, slot: int) -> None:
        self._watch = watch
        self._slot = slot

    def __enter__(self) -> None:
        self._before = self._watch.switch(self._slot)

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:  # the time of a task that has failed counts for the operator that failed
            self._watch.switch(self._before)


def of_operator(spent: list[int], number: int) -> OperatorTimes:
    """The time of the operator with this number in its task (microseconds), given the nanoseconds of all slots."""
    place = _WHOLE + _PARTS * number
    work, sort, write = spent[place : place + _PARTS]
    return OperatorTimes(work // 1000, sort // 1000, write // 1000)


def work_slot(number: int) -> int:
    """The slot for the work of the operator with this number in its task."""
    return _WHOLE + _PARTS * number


def sort_slot(number: int) -> int:
    """The slot for sorting the output of an operator by receiver."""
    return work_slot(number) + 1


def write_slot(number: int) -> int:
    """The slot for waiting until the output of an operator is taken."""
    return work_slot(number) + 2


# Heavy keys

COUNTERS = 32
SHOWN = 10
LEAST_SHARE = 0.01
ALL_UNTIL = 256
"""The number of first elements that are all sampled."""
ONE_IN = 1_024
"""After them about one in this many elements is sampled, at random: a period in the data must not hide keys."""
FORGET_AT = 10_000_000
"""The number of elements after which all counts are halved, so that older elements count less."""
KEY_LIMIT = 80
PAUSE_MS = 2_000
"""The interval at which heavy keys are reported to the driver (ms)."""

HeavyKeys = tuple[tuple[str, float], ...]
"""(text of a key, share of the input, 0 to 1), the heaviest first"""


class Sketch:
    """A sketch of the keys of one operator's input in one subtask."""

    def __init__(self) -> None:
        self.total = 0
        """number of elements, sampled or not"""
        self._counts: dict[Any, int] = {}
        self._errors: dict[Any, int] = {}
        self._next = 0
        """number of elements to skip before the next sample"""
        self._random = Random(0)

    def see(self, keys: Sequence[Any]) -> None:
        """Count elements with these keys."""
        length, at = len(keys), self._next
        while at < length:
            step = 1 if self.total + at < ALL_UNTIL else 1 + int(self._random.random() * 2 * ONE_IN)
            self._add(keys[at], 1 if step == 1 else ONE_IN)
            at += step
        self._next = at - length
        self.total += length
        if self.total > FORGET_AT:
            self._halve()

    def _add(self, key: Any, weight: int) -> None:
        counts = self._counts
        if key in counts:
            counts[key] += weight
        elif len(counts) < COUNTERS:
            counts[key] = weight
        else:
            smallest = min(counts, key=counts.__getitem__)
            error = counts.pop(smallest)
            self._errors.pop(smallest, None)
            counts[key], self._errors[key] = error + weight, error

    def _halve(self) -> None:
        self.total //= 2
        self._counts = {key: count // 2 for key, count in self._counts.items()}
        self._errors = {key: error // 2 for key, error in self._errors.items()}

    def heaviest(self) -> HeavyKeys:
        """The keys whose certain share is large enough to be shown."""
        if not self.total:
            return ()
        shares = [
            ((count - self._errors.get(key, 0)) / self.total, shorten(key, KEY_LIMIT))
            for key, count in self._counts.items()
        ]
        shares.sort(reverse=True)
        return tuple((text, min(share, 1.0)) for share, text in shares[:SHOWN] if share >= LEAST_SHARE)


class Watched:
    """Counts the keys of an operator's input, for elements and for batches of rows."""

    def __init__(self, columns: Mapping[int, Sequence[int]]) -> None:
        """:param columns: input -> key columns, for inputs with batches of rows."""
        self._columns = columns
        self._sketch: Sketch | None = Sketch()
        self._told = 0

    def see(self, values: Sequence[Any], keys: Sequence[Any] | None, input: int) -> None:
        """Count elements of an input."""
        sketch = self._sketch
        if sketch is None:
            return
        try:
            if keys is not None:
                sketch.see(keys)
            elif columns := self._columns.get(input):
                for rows in values:
                    sketch.see(_KeysOfRows(rows, columns))
        except TypeError:  # keys without a hash of Python's: there is no way to count them
            self._sketch = None

    def report(self, now: int) -> HeavyKeys | None:
        """The heavy keys for the driver, at time ``now`` (ms); None: nothing new."""
        if self._sketch is None or now - self._told < PAUSE_MS:
            return None
        self._told = now
        return self._sketch.heaviest()


class _KeysOfRows(Sequence[Any]):
    """The keys of a batch of rows; each is made when it is accessed."""

    def __init__(self, rows: Rows, columns: Sequence[int]) -> None:
        self._length = len(rows)
        self._columns = [rows.batch.column(index) for index in columns]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: Any) -> Any:
        key = tuple(column[place].as_py() for column in self._columns)
        return key[0] if len(key) == 1 else key

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(self._length))


def watched(inputs: Iterable[tuple[int, Partitioner]]) -> Watched | None:
    """The counter of heavy keys for an operator with keyed input; None for others.

    :param inputs: (input, partitioner) of each edge into the operator.
    """
    by_key = [(input, each) for input, each in inputs if isinstance(each, (Hash, ByColumns))]
    return Watched({input: each.columns for input, each in by_key if isinstance(each, ByColumns)}) if by_key else None
