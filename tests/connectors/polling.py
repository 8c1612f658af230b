"""Jobs that read until something happens."""

from __future__ import annotations

import time

from millrace.testing.connectors.sources import SourceJob


def go_on(job: SourceJob, seconds: float = 10.0) -> None:
    """Run epochs for some time: an error is expected."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        job.epoch()
