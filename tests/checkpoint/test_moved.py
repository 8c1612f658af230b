"""Classes that stored state names by the modules of earlier versions."""

from __future__ import annotations

import pytest

from millrace.checkpoint.classes import find_class
from millrace.checkpoint.moved import present_module
from millrace.checkpoint.pickles import _Reader
from millrace.common.window.evictor import TimestampedValue
from millrace.common.window.windows import TimeWindow

OLD = "millrace.datastream.window.windows"


def test_a_stored_name_of_a_moved_class_is_found() -> None:
    assert find_class(f"{OLD}:TimeWindow") is TimeWindow
    assert find_class("millrace.datastream.window.evictor:TimestampedValue") is TimestampedValue


def test_a_pickle_by_reference_is_read() -> None:
    assert _Reader({}, {}).load(f"c{OLD}\nTimeWindow\n.".encode()) is TimeWindow


@pytest.mark.parametrize("module", ["millrace.datastream.windowed_stream", "millrace.datastream", "__main__"])
def test_other_modules_are_where_they_were(module: str) -> None:
    assert present_module(module) == module
