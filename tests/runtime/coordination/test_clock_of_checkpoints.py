"""When a checkpoint is due while the machine's clock is set."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.runtime.coordination.checkpoints import Checkpoints, CheckpointSettings


@pytest.mark.parametrize(("moved", "due"), [(0, False), (999, False), (1_000, True), (-3_600_000, True)])
def test_a_clock_that_is_set_back_delays_no_checkpoint(moved: int, due: bool) -> None:
    """There would be none until it is again where it was."""
    now = [10**12]
    store: Any = None
    recorder = Checkpoints(CheckpointSettings(interval=1_000), store, lambda: now[0])
    now[0] += moved
    assert recorder.due(0) == due


@pytest.mark.parametrize(
    ("moved", "length", "due"),
    [
        (749, 1_000, False),
        (750, 1_000, True),
        (949, 100, False),
        (950, 100, True),
        (999, 0, False),
        (750, 60_000, True),
    ],
)
def test_an_epoch_that_ends_a_little_too_early_becomes_a_checkpoint(moved: int, length: int, due: bool) -> None:
    """Else one that misses the interval by a ms would leave its records to the end of the next one."""
    now = [10**12]
    store: Any = None
    recorder = Checkpoints(CheckpointSettings(interval=1_000), store, lambda: now[0])
    now[0] += moved
    assert recorder.due(length) == due
