"""A value that all subtasks of an operator make together, and that all see one epoch later.

What a subtask adds goes into an accumulator of its own, which travels to the driver when the epoch ends. There it is
merged into that of the operator, in the order of the subtasks; the next order tells all of them. So an epoch that fails
adds nothing, and what a subtask sees does not depend on who was faster.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from millrace.common.functions import AggregateFunction, GlobalAggregateManager
from millrace.runtime.failure import describe
from millrace.runtime.pickling import dumps

Known = Mapping[str, bytes]
"""name -> accumulator, pickled"""


class AddedPart(NamedTuple):
    """What one subtask added to an aggregate in an epoch, pickled."""

    function: bytes
    accumulator: bytes


class GlobalAggregateError(Exception):
    """The parts of an aggregate can't be merged."""


class SubtaskAggregates(GlobalAggregateManager):
    """The side of a subtask."""

    def __init__(self) -> None:
        self._known: Known = {}
        self._results: dict[str, Any] = {}
        self._added: dict[str, tuple[AggregateFunction, Any]] = {}
        self._parts: dict[str, AddedPart] = {}

    def begin_epoch(self, known: Known) -> None:
        """What all subtasks have added in complete epochs."""
        self._known, self._results = known, {}
        self._parts = {}

    def update_global_aggregate(
        self, aggregate_name: str, aggregand: Any, aggregate_function: AggregateFunction
    ) -> Any:
        if not isinstance(aggregate_function, AggregateFunction):
            raise TypeError(
                f"the global aggregate {aggregate_name!r} needs an AggregateFunction: {aggregate_function!r}"
            )
        function, accumulator = self._added.get(aggregate_name) or (
            aggregate_function,
            aggregate_function.create_accumulator(),
        )
        self._added[aggregate_name] = function, function.add(aggregand, accumulator)
        return self._result(aggregate_name, aggregate_function)

    def get_global_aggregate(self, aggregate_name: str, aggregate_function: AggregateFunction) -> Any:
        return self._result(aggregate_name, aggregate_function)

    def _result(self, name: str, function: AggregateFunction) -> Any:
        if name not in self._known:
            return None
        if name not in self._results:
            self._results[name] = function.get_result(pickle.loads(self._known[name]))
        return self._results[name]

    def end_epoch(self) -> None:
        """Nothing will be added any more. Raises what pickling raises."""
        added, self._added = self._added, {}
        self._parts = {name: AddedPart(dumps(function), dumps(part)) for name, (function, part) in added.items()}

    def parts(self) -> dict[str, AddedPart]:
        """What this subtask has added in the epoch that has ended."""
        return self._parts


def merged(known: Known, subtasks: Iterable[Mapping[str, AddedPart]]) -> dict[str, bytes]:
    """What is known after an epoch.

    :param subtasks: the parts of each, in the order of their numbers.
    :raises GlobalAggregateError: a function failed, or can't be loaded here.
    """
    found: dict[str, Any] = {}
    for parts in subtasks:
        for name, part in parts.items():
            try:
                function: AggregateFunction = pickle.loads(part.function)
                accumulator = pickle.loads(part.accumulator)
                if name in found:
                    accumulator = function.merge(found[name], accumulator)
                elif name in known:
                    accumulator = function.merge(pickle.loads(known[name]), accumulator)
            except Exception as error:
                raise GlobalAggregateError(
                    f"the global aggregate {name!r} could not be merged on the driver: {describe(error)}"
                ) from error
            found[name] = accumulator
    return {**known, **{name: dumps(accumulator) for name, accumulator in found.items()}}


class GlobalAggregates:
    """The side of the driver: what the operators of a job have, by uid."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, bytes]] = {}

    def after(self, added: Iterable[tuple[str, int, Mapping[str, AddedPart]]]) -> dict[str, dict[str, bytes]]:
        """What is known when an epoch counts; changes nothing yet.

        :param added: (uid, subtask, parts), in any order.
        :raises GlobalAggregateError: as ``merged``.
        """
        by_uid: dict[str, list[tuple[int, Mapping[str, AddedPart]]]] = {}
        for uid, subtask, parts in added:
            if parts:
                by_uid.setdefault(uid, []).append((subtask, parts))
        news = {
            uid: merged(self.known.get(uid, {}), (parts for _, parts in sorted(found, key=lambda item: item[0])))
            for uid, found in by_uid.items()
        }
        return {**self.known, **news}
