"""The binary forms of windows."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from millrace.common.serializer import TypeSerializer
from millrace.datastream.window import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
)

LONG_MAX = 2**63 - 1

FORMS = [
    (TimeWindowSerializer(), TimeWindow(1, 258), "00000000000000010000000000000102"),
    (TimeWindowSerializer(), TimeWindow(-1, LONG_MAX), "ffffffffffffffff7fffffffffffffff"),
    (CountWindowSerializer(), CountWindow(3), "0000000000000003"),
    (GlobalWindowSerializer(), GlobalWindow(), "00"),
]


@pytest.mark.parametrize(("serializer", "window", "form"), FORMS)
def test_a_window_is_written_as_pyflink_does(serializer: TypeSerializer[Any], window: Any, form: str) -> None:
    stream = BytesIO()
    serializer.serialize(window, stream)
    assert stream.getvalue().hex() == form


@pytest.mark.parametrize(("serializer", "window", "form"), FORMS)
def test_windows_are_read_one_after_the_other(serializer: TypeSerializer[Any], window: Any, form: str) -> None:
    stream = BytesIO(bytes.fromhex(form * 2 + "07"))
    assert [serializer.deserialize(stream), serializer.deserialize(stream)] == [window, window]
    assert stream.read() == b"\x07"
