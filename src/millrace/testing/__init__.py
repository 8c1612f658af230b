"""Test kit for users and for Millrace itself: runs operators and whole programs without Spark."""

from __future__ import annotations

from millrace.runtime.elements import Status
from millrace.testing.conformance import (
    Check,
    ConformanceError,
    check_checkpoint_storage,
    check_state_backend,
    checkpoint_storage_checks,
    state_backend_checks,
)
from millrace.testing.harness import OperatorHarness, interval_join_harness
from millrace.testing.ledger import Ledger, LedgerEntry, LedgerSink, read_ledger
from millrace.testing.local import LocalRun, run_locally
from millrace.testing.operators import Snapshot
from millrace.testing.script import (
    Element,
    EndInput,
    EpochEnd,
    ProcessingTime,
    Record,
    SliceEnd,
    StatusStep,
    Step,
    Watermark,
    WatermarkStep,
    steps,
)
from millrace.testing.timelines import Timeline, TimelineError, timeline
from millrace.testing.variants import Outcome, check_variants, run_script

__all__ = [
    "Check",
    "ConformanceError",
    "Element",
    "EndInput",
    "EpochEnd",
    "Ledger",
    "LedgerEntry",
    "LedgerSink",
    "LocalRun",
    "OperatorHarness",
    "Outcome",
    "ProcessingTime",
    "Record",
    "SliceEnd",
    "Snapshot",
    "Status",
    "StatusStep",
    "Step",
    "Timeline",
    "TimelineError",
    "Watermark",
    "WatermarkStep",
    "check_checkpoint_storage",
    "check_state_backend",
    "check_variants",
    "checkpoint_storage_checks",
    "interval_join_harness",
    "read_ledger",
    "run_locally",
    "run_script",
    "state_backend_checks",
    "steps",
    "timeline",
]
