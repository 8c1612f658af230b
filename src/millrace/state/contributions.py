"""New state of an operator: what makes it, and how it gets into the files of a savepoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from millrace.checkpoint.files.folder import open_folder
from millrace.checkpoint.savepoints.metadata import StateDescription
from millrace.checkpoint.savepoints.state_file import StateFile
from millrace.checkpoint.savepoints.state_files import write_states
from millrace.common.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.operator_state import Distribution, OperatorStateBackend
from millrace.runtime.state.restoring.redistribute import redistribute
from millrace.state.bootstrap import BootstrapTransformation
from millrace.state.bootstrap_frames import run_on_spark
from millrace.state.inputs import Getter, batches_of, is_frame
from millrace.state.keyed_bootstrap import Recipe

__all__ = ["Contribution", "KeyedContribution", "OperatorStateContribution", "Written"]


@dataclass(frozen=True)
class Written:
    """State that lies in files."""

    files: tuple[StateFile, ...]
    states: tuple[StateDescription, ...]


class Contribution(Protocol):
    """Makes state of one operator."""

    def write(self, uri: str, prefix: str, place: OperatorPlace) -> Written:
        """Make it, in files below ``prefix`` in the folder at ``uri``."""


@dataclass(frozen=True)
class KeyedContribution:
    """What a bootstrap function makes of its rows."""

    transformation: BootstrapTransformation
    origin: str
    """file:line of the user's call"""

    def write(self, uri: str, prefix: str, place: OperatorPlace) -> Written:
        rows, parallelism = self.transformation.rows, self.transformation.parallelism
        if is_frame(rows):
            tasks = min(parallelism or rows.sparkSession.sparkContext.defaultParallelism, place.max_parallelism)
            recipe = Recipe(self.transformation, place.uid, self.origin, place.max_parallelism, tasks)
            files, infos = run_on_spark(rows, recipe, uri, prefix)
        else:
            recipe = Recipe(self.transformation, place.uid, self.origin, place.max_parallelism)
            chunks = (chunk for keyed in recipe.keyed(batches_of(rows)) for chunk in recipe.split(keyed).values())
            backend = recipe.run(chunks)
            files = write_states(open_folder(uri), prefix, 0, place.max_parallelism, backend.full_pieces(), None)
            infos = backend.described()
        return Written(tuple(files), tuple(map(StateDescription.of, infos)))


@dataclass(frozen=True)
class OperatorStateContribution:
    """A list, union list or broadcast state."""

    descriptor: StateDescriptor
    distribution: Distribution
    rows: Any
    value: Getter
    """of a list: its element; of a broadcast state: (key, value)"""

    def write(self, uri: str, prefix: str, place: OperatorPlace) -> Written:
        backend = OperatorStateBackend()
        self._fill(backend)
        files = []
        for subtask, state in enumerate(redistribute([backend.full()], place.parallelism)):
            files += write_states(open_folder(uri), prefix, subtask, place.max_parallelism, (), state)
        return Written(tuple(files), tuple(map(StateDescription.of, backend.described())))

    def _fill(self, backend: OperatorStateBackend) -> None:
        values = (self.value(row) for batch in batches_of(_local(self.rows)) for row in batch)
        if self.distribution is Distribution.BROADCAST:
            assert isinstance(self.descriptor, MapStateDescriptor)
            backend.get_broadcast_state(self.descriptor).put_all(dict(values))
            return
        assert isinstance(self.descriptor, ListStateDescriptor)
        union = self.distribution is Distribution.UNION
        get = backend.get_union_list_state if union else backend.get_list_state
        get(self.descriptor).add_all(list(values))


def _local(rows: Any) -> Iterable[Any]:
    """Operator state is small: it comes to the driver."""
    if isinstance(rows, Mapping):
        return rows.items()
    return rows.toArrow() if is_frame(rows) else rows  # type: ignore[no-any-return]

