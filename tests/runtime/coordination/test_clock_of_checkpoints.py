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
    assert recorder.due() == due
