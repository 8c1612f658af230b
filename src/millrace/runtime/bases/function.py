"""What all operators around one user function share: its life from open to close, with its operator state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from millrace.common.functions import (
    CheckpointedFunction,
    Function,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from millrace.runtime.bases.base import Operator
from millrace.runtime.state.address import NoKey
from millrace.runtime.state.operator_state import OperatorStateBackend

F = TypeVar("F", bound=Function)
"""Type of the user function."""


NO_KEY = NoKey("There is no element at hand, so no key: keyed state can be read and written once there is one")


class FunctionOperator(Operator, Generic[F]):
    """Opens and closes ``function`` with the operator."""

    def __init__(self, function: F) -> None:
        self.function = function
        self._opened = False
        self._operator_state: OperatorStateBackend | None = None

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        if checkpointed(self.function) is not None:
            self._operator_state = OperatorStateBackend()

    def operator_state(self) -> OperatorStateBackend | None:
        return self._operator_state

    def open(self) -> None:
        self._initialize()
        if self.context.runtime.keyed is not None:
            self.context.runtime.keyed.at = NO_KEY
        try:
            self.call(self.function.open, self.context.runtime)
        except Exception as error:
            raise self.context.error(error, during=" in open()") from error
        self._opened = True

    def _initialize(self) -> None:
        function, state, keyed = checkpointed(self.function), self._operator_state, self.context.runtime.keyed
        if function is None or state is None:
            return
        if keyed is not None:
            keyed.at = NO_KEY
        try:
            checkpoint = self.context.runtime.restored_checkpoint
            function.initialize_state(FunctionInitializationContext(state.restored, state, keyed, checkpoint))
        except Exception as error:
            raise self.context.error(error, during=" in initialize_state()") from error

    def before_snapshot(self, checkpoint_id: int) -> None:
        function, keyed = checkpointed(self.function), self.context.runtime.keyed
        if function is None or not self._opened:
            return
        if keyed is not None:
            keyed.at = NO_KEY
        try:
            function.snapshot_state(FunctionSnapshotContext(checkpoint_id, self.context.clock()))
        except Exception as error:
            raise self.context.error(error, during=" in snapshot_state()") from error

    def close(self) -> None:
        if not self._opened:
            return
        self._opened = False
        try:
            self.call(self.function.close)
        except Exception as error:
            raise self.context.error(error, during=" in close()") from error

    def call(self, method: Callable[..., Any], *args: Any) -> None:
        """Run ``open`` or ``close`` of the function."""
        method(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name(self.function)})"


def checkpointed(function: Any) -> CheckpointedFunction | None:
    """The user's CheckpointedFunction, also behind the adapters that Millrace puts round functions; None without."""
    while not isinstance(function, CheckpointedFunction):
        if not type(function).__module__.startswith("millrace."):
            return None
        function = getattr(function, "function", None) or getattr(function, "func", None)
    return function


def _name(function: Any) -> str:
    return type(function).__name__
