"""Classes that stored state names by the modules of earlier versions."""

from __future__ import annotations

import importlib.util

import pytest

from millrace.checkpoint.classes import MissingClassError, find_class
from millrace.checkpoint.inert import inert_loads
from millrace.checkpoint.moved import _MODULES, present_module
from millrace.checkpoint.pickles import _Reader
from millrace.common.window.evictors import TimestampedValue
from millrace.common.window.windows import TimeWindow
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.state.tables import ABSENT

OLD = "millrace.datastream.window.windows"


def test_a_stored_name_of_a_moved_class_is_found() -> None:
    assert find_class(f"{OLD}:TimeWindow") is TimeWindow
    assert find_class("millrace.datastream.window.evictor:TimestampedValue") is TimestampedValue


def test_a_class_is_found_by_the_module_that_a_savepoint_of_0_1_names() -> None:
    assert find_class("millrace.runtime.reading:ReadingSnapshot") is ReadingSnapshot
    assert inert_loads(b"cmillrace.runtime.state.tables\nABSENT\n.") is ABSENT


def test_a_module_that_is_gone_is_refused_by_name() -> None:
    with pytest.raises(MissingClassError, match=r"millrace\.runtime\.context can't be imported"):
        find_class("millrace.runtime.context:OperatorRuntimeContext")


def test_every_old_name_leads_to_a_module() -> None:
    for old, new in _MODULES.items():
        assert importlib.util.find_spec(new) is not None, old
        assert present_module(new) == new


def test_a_pickle_by_reference_is_read() -> None:
    assert _Reader({}, {}).load(f"c{OLD}\nTimeWindow\n.".encode()) is TimeWindow


@pytest.mark.parametrize("module", ["millrace.datastream.windowed_stream", "millrace.datastream", "__main__"])
def test_other_modules_are_where_they_were(module: str) -> None:
    assert present_module(module) == module
