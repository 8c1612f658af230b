"""Kinds of functions that Flink has no more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from millrace.common.functions import CheckpointedFunction, Function
from millrace.common.state import ListStateDescriptor
from millrace.common.typeinfo import Types
from millrace.legacy.telling import tell

__all__ = ["FoldFunction", "ListCheckpointed", "OutputSelector"]


class FoldFunction(Function):
    """Makes one value of many, beginning with one of its own kind."""

    @abstractmethod
    def fold(self, accumulator: Any, value: Any) -> Any:
        """The accumulator with one more value."""


class OutputSelector(ABC):
    """Gives elements names, by which ``SplitStream.select`` finds them."""

    @abstractmethod
    def select(self, value: Any) -> Iterable[str]:
        """The names of an element; none for one that no stream gets."""


_ELEMENTS = ListStateDescriptor("list-checkpointed", Types.PICKLED_BYTE_ARRAY())


class ListCheckpointed(CheckpointedFunction):
    """A function whose state is a list, which may be cut anywhere when the parallelism changes.

    A subclass has ``snapshot_state(self, checkpoint_id, timestamp)``, which gives the list, and ``restore_state(self,
    state)``, which takes one.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        given = cls.__dict__.get("snapshot_state")
        if given is not None:
            type.__setattr__(cls, "list_of_state", given)
            type.__setattr__(cls, "snapshot_state", ListCheckpointed.snapshot_state)

    def initialize_state(self, context: Any) -> None:
        tell("ListCheckpointed", "CheckpointedFunction")
        self.__dict__["_saved"] = context.get_operator_state_store().get_list_state(_ELEMENTS)
        if context.is_restored():
            self.restore_state(list(self.__dict__["_saved"].get()))

    def snapshot_state(self, context: Any) -> None:
        number = context.get_checkpoint_id()
        timestamp = context.get_checkpoint_timestamp()
        self.__dict__["_saved"].update(list(self.list_of_state(number, timestamp)))

    def list_of_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        """What the subclass calls ``snapshot_state``."""
        raise NotImplementedError(f"{type(self).__name__} has no snapshot_state(checkpoint_id, timestamp)")

    @abstractmethod
    def restore_state(self, state: list[Any]) -> None:
        """Take over elements that were saved, by this copy or by others."""
