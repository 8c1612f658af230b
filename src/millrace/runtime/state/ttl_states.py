"""Which state object with time to live takes the place of which without."""

from __future__ import annotations

from typing import Any

from millrace.runtime.state.keyed import (
    HeapAggregatingState,
    HeapListState,
    HeapMapState,
    HeapReducingState,
    HeapValueState,
)
from millrace.runtime.state.ttl_list import TtlListState
from millrace.runtime.state.ttl_map import TtlMapState
from millrace.runtime.state.ttl_value import TtlAggregatingState, TtlReducingState, TtlValueState

TTL_STATES: dict[type, Any] = {
    HeapValueState: TtlValueState,
    HeapListState: TtlListState,
    HeapMapState: TtlMapState,
    HeapReducingState: TtlReducingState,
    HeapAggregatingState: TtlAggregatingState,
}
