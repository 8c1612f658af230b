"""Flink's names of reporters lead to classes of ours."""

from __future__ import annotations

import pytest

from millrace.metrics.reporters import scheduling
from millrace.util import plugins


@pytest.mark.parametrize("name", plugins.names(scheduling.ENTRY_POINTS))
def test_each_reporter_of_flink_has_a_class(name: str) -> None:
    assert scheduling.reporter_class(f"{name}Factory")
