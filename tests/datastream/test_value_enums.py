"""The small enums and contracts of the package."""

from __future__ import annotations

from enum import Enum

import pytest

from millrace.common.state.storage import ExternalizedCheckpointRetention
from millrace.datastream.checkpointing_mode import CheckpointingMode
from millrace.datastream.execution_mode import RuntimeExecutionMode
from millrace.datastream.time_domain import TimeDomain
from millrace.datastream.timerservice import TimerService
from millrace.datastream.utils import ResultTypeQueryable


@pytest.mark.parametrize(
    ("enum", "members"),
    [
        (CheckpointingMode, {"EXACTLY_ONCE": 0, "AT_LEAST_ONCE": 1}),
        (RuntimeExecutionMode, {"STREAMING": 0, "BATCH": 1, "AUTOMATIC": 2}),
        (
            ExternalizedCheckpointRetention,
            {"DELETE_ON_CANCELLATION": 0, "RETAIN_ON_CANCELLATION": 1, "NO_EXTERNALIZED_CHECKPOINTS": 2},
        ),
        (TimeDomain, {"EVENT_TIME": 0, "PROCESSING_TIME": 1}),
    ],
)
def test_members_are_pyflinks(enum: type[Enum], members: dict[str, int]) -> None:
    assert {member.name: member.value for member in enum} == members


def test_contracts() -> None:
    assert TimerService.__abstractmethods__ == {
        "current_processing_time",
        "current_watermark",
        "register_processing_time_timer",
        "register_event_time_timer",
        "delete_processing_time_timer",
        "delete_event_time_timer",
    }
    assert ResultTypeQueryable.__abstractmethods__ == {"get_produced_type"}
