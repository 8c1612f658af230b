"""Tests here import ``pyflink``, which is Millrace for as long as one runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import millrace


@pytest.fixture(autouse=True)
def _active() -> Iterator[None]:
    millrace.activate()
    yield
    millrace.deactivate()
