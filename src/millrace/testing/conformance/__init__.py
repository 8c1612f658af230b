"""Conformance tests for plug-ins: what a state backend or a checkpoint storage must do for Millrace's jobs."""

from __future__ import annotations

from millrace.testing.conformance.checkpoint_storage import check_checkpoint_storage, checkpoint_storage_checks
from millrace.testing.conformance.checks import Check, ConformanceError
from millrace.testing.conformance.state_backend import check_state_backend, state_backend_checks

__all__ = [
    "Check",
    "ConformanceError",
    "check_checkpoint_storage",
    "check_state_backend",
    "checkpoint_storage_checks",
    "state_backend_checks",
]
