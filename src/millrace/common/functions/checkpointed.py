"""``CheckpointedFunction``: operator state for functions, which PyFlink has not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.common.functions.base import KeyedStateStore
    from millrace.common.state import OperatorStateStore

__all__ = ["CheckpointedFunction", "FunctionInitializationContext", "FunctionSnapshotContext"]


class FunctionInitializationContext:
    """What a function begins with: where its state is, and whether there is any from before.

        >>> class Restored(MapFunction, CheckpointedFunction):
        ...     def initialize_state(self, context):
        ...         self.restored = context.is_restored()
        ...     def snapshot_state(self, context):
        ...         pass
        ...     def map(self, value):
        ...         return value, self.restored
        >>> list(env.from_collection(["a"]).map(Restored()).execute_and_collect())
        [('a', False)]
    """

    def __init__(
        self,
        restored: bool,
        operator_state: OperatorStateStore,
        keyed_state: KeyedStateStore | None = None,
        checkpoint_id: int | None = None,
    ) -> None:
        self._restored = restored
        self._checkpoint_id = checkpoint_id
        self._operator_state = operator_state
        self._keyed_state = keyed_state

    def is_restored(self) -> bool:
        """Whether the function goes on from state, be it an empty one, rather than beginning the job."""
        return self._restored

    def get_restored_checkpoint_id(self) -> int | None:
        """The number of the checkpoint or savepoint that the state is of, which is that of its epoch: as
        ``FunctionSnapshotContext.get_checkpoint_id`` gave it then. None if the function begins the job.
        """
        return self._checkpoint_id if self._restored else None

    def get_operator_state_store(self) -> OperatorStateStore:
        """Where to get list, union list and broadcast state."""
        return self._operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        """Where to get keyed state; its entries can be read and written once there is an element, and so a key.

        :raises RuntimeError: the stream is not keyed.
        """
        if self._keyed_state is None:
            raise RuntimeError("Keyed state can only be used on a keyed stream, i.e. after key_by().")
        return self._keyed_state


class FunctionSnapshotContext:
    """The snapshot that is being taken.

        >>> context = FunctionSnapshotContext(7, 1_772_706_600_000)
        >>> context.get_checkpoint_id(), context.get_checkpoint_timestamp()
        (7, 1772706600000)
    """

    def __init__(self, checkpoint_id: int, checkpoint_timestamp: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._checkpoint_timestamp = checkpoint_timestamp

    def get_checkpoint_id(self) -> int:
        """The number of the epoch that ends. Numbers grow; that of a failed epoch is not used again."""
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """The subtask's clock when the epoch ended, ms."""
        return self._checkpoint_timestamp


class CheckpointedFunction(ABC):
    """Mixed into a user function of any kind: gives it operator state, and a say when state is taken.

        class BufferingSink(SinkFunction, CheckpointedFunction):
            def initialize_state(self, context):
                self.saved = context.get_operator_state_store().get_list_state(BUFFER)
                self.buffer = list(self.saved.get())

            def snapshot_state(self, context):
                self.saved.update(self.buffer)

    What a function keeps in attributes lives in one worker process; the next epoch may run in another. The copy there
    then gets a new instance of the function, as it was when the program was submitted, whose ``initialize_state`` finds
    the state that the other copy saved: that is Flink's restore, only that it may happen between any two epochs. Of an
    instance that is replaced ``close`` is called: don't write out there what is saved in state, do that in ``finish``.

        >>> class Buffer(MapFunction, CheckpointedFunction):
        ...     def initialize_state(self, context):
        ...         kept = ListStateDescriptor("kept", Types.INT())
        ...         self.kept = context.get_operator_state_store().get_list_state(kept)
        ...     def snapshot_state(self, context):
        ...         self.kept.update([1, 2])
        ...     def map(self, value):
        ...         return value, list(self.kept.get())
        >>> list(env.from_collection(["a"]).map(Buffer()).execute_and_collect())
        [('a', [])]
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the state. Called before ``open``, on every new instance; ``is_restored`` tells the first ones apart."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Move into the state what must not be lost. Called at the end of every epoch after which another may come."""
