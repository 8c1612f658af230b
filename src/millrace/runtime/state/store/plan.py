"""The configuration of a user's own state backend for a job."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from millrace.common.state.storage import KeyValueStore, StorePlace
from millrace.runtime.state.store.state import StoreState
from millrace.runtime.state.working import Piece, WorkingState
from millrace.runtime.storage import TaskId


class Stores(Protocol):
    """What a user's state backend has to provide."""

    def open_store(self, place: StorePlace) -> KeyValueStore: ...

    def discard(self, job_id: str) -> None: ...


@dataclass(frozen=True)
class InStores:
    """State in the stores of a user's state backend."""

    in_memory: ClassVar[bool] = False
    backend: Stores

    def state_of(self, job_id: str, task: TaskId, small: Callable[[], Piece]) -> WorkingState:
        stage, partition = task
        place = StorePlace(job_id, stage, partition, uuid.uuid4().hex[:12])
        return StoreState(lambda: self._open(place))

    def _open(self, place: StorePlace) -> KeyValueStore:
        name = type(self.backend).__qualname__
        try:
            store: Any = self.backend.open_store(place)
        except Exception as error:
            raise RuntimeError(
                f"open_store() of the state backend {name} failed: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(store, KeyValueStore):
            raise TypeError(f"open_store() of the state backend {name} gave {store!r}, which is no KeyValueStore")
        return store

    def discard(self, job_id: str) -> None:
        self.backend.discard(job_id)
