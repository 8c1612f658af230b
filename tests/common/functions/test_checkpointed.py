"""``CheckpointedFunction`` and its contexts, as a test of a user's own function would use them."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.typeinfo import Types
from millrace.datastream import CheckpointedFunction, MapFunction
from millrace.datastream.functions import FunctionInitializationContext, FunctionSnapshotContext, SourceFunction
from millrace.datastream.state import ListStateDescriptor
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.operator_state import OperatorStateBackend


class Largest(MapFunction, CheckpointedFunction):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(ListStateDescriptor("largest", Types.INT()))
        self.largest = max(self.saved, default=0) if context.is_restored() else -1

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([self.largest, context.get_checkpoint_id()])

    def map(self, value: int) -> int:
        self.largest = max(self.largest, value)
        return self.largest


def test_a_function_by_hand() -> None:
    store, function = OperatorStateBackend(), Largest()
    function.initialize_state(FunctionInitializationContext(False, store))
    assert [function.map(value) for value in (3, 1, 5)] == [3, 3, 5]
    snapshot = FunctionSnapshotContext(4, 1_000)
    assert snapshot.get_checkpoint_timestamp() == 1_000
    function.snapshot_state(snapshot)
    again = Largest()
    again.initialize_state(FunctionInitializationContext(True, store))
    assert again.map(2) == 5


def test_keyed_state_only_where_there_are_keys() -> None:
    store, keyed = OperatorStateBackend(), KeyedStateBackend()
    assert FunctionInitializationContext(False, store, keyed).get_keyed_state_store() is keyed
    with pytest.raises(RuntimeError, match=r"only be used on a keyed stream, i\.e\. after key_by"):
        FunctionInitializationContext(False, store).get_keyed_state_store()


def test_it_needs_both_methods() -> None:
    class Half(MapFunction, CheckpointedFunction):
        def initialize_state(self, context: FunctionInitializationContext) -> None: ...

        def map(self, value: Any) -> Any:
            return value

    with pytest.raises(TypeError, match=r"abstract.*snapshot_state"):
        Half()  # type: ignore[abstract]


def test_a_source_context_without_a_lock_of_its_own() -> None:
    class Plain(SourceFunction.SourceContext[int]):
        def collect(self, element: int) -> None: ...

        def collect_with_timestamp(self, element: int, timestamp: int) -> None: ...

        def emit_watermark(self, timestamp: int) -> None: ...

        def mark_as_temporarily_idle(self) -> None: ...

    with Plain().get_checkpoint_lock() as entered:
        assert entered is None
