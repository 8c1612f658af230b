"""Test kit for users and for Millrace itself: operators and whole programs without Spark."""

from __future__ import annotations

from millrace.testing.local import LocalRun, run_locally

__all__ = ["LocalRun", "run_locally"]
