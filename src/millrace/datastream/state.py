# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""State descriptors and handles, under PyFlink's path."""

from __future__ import annotations

from millrace.common.state.handles import (
    AggregatingState,
    AggregatingStateDescriptor,
    AppendingState,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.common.state.ttl import StateTtlConfig

__all__ = [
    "ValueStateDescriptor",
    "ValueState",
    "ListStateDescriptor",
    "ListState",
    "MapStateDescriptor",
    "MapState",
    "ReducingStateDescriptor",
    "ReducingState",
    "AggregatingStateDescriptor",
    "AggregatingState",
    "ReadOnlyBroadcastState",
    "BroadcastState",
    "OperatorStateStore",
    "AppendingState",
    "MergingState",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
]
