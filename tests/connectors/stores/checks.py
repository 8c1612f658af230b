"""Which checks of the kit for connectors run always, and which only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millrace.testing.connectors import SinkUnderTest, sink_checks

ALWAYS = ("driver dies: committing", "taken for dead", "swept", "seed 1")
"""what ``make test`` runs; ``make connectors`` runs all"""


def chosen_checks(open_place: Callable[[], SinkUnderTest]) -> list[Any]:
    checks = sink_checks(open_place)
    often = [any(word in str(check) for word in ALWAYS) for check in checks]
    assert sum(often) == len(ALWAYS)
    return [check if each else pytest.param(check, marks=pytest.mark.slow) for check, each in zip(checks, often)]
