"""Timelines as text and as pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from millrace.runtime.elements import MAX_WATERMARK
from millrace.testing.timelines import (
    Arrival,
    OperatorTimeline,
    Timeline,
    TimerFired,
    TimerSet,
    WatermarkMoved,
    WindowFired,
)
from millrace.testing.timelines.running import axis_of, time_text

EVENTS = (
    Arrival("a", ("a", 1), 1_000, False),
    WatermarkMoved(500),
    TimerSet("a", 9_000, False),
    Arrival("b", "<b>", 12_000, False),
    WatermarkMoved(11_500),
    WindowFired("a", 0, 10_000, (("a", 1),), (("a", "one"),)),
    TimerFired("a", 9_000, False),
    Arrival("a", ("a", 2), 2_000, True),
    Arrival("a", "no time", None, False),
    WatermarkMoved(MAX_WATERMARK),
    WindowFired("b", 10_000, 20_000, ("<b>",), ()),
)
SHOWN = Timeline((OperatorTimeline("hourly", EVENTS),), True)


def test_text() -> None:
    lines = SHOWN.to_text(190).splitlines()
    assert [line.split("  ")[-1].strip() for line in lines[5:]] == [
        "('a', 1)",
        "timer of 'a' for 9 s is set",
        "'<b>'",
        "window of 'a' fires: ('a', 'one')",
        "timer of 'a' for 9 s fires",
        "('a', 2), LATE",
        "'no time'",
        "end of input",
        "window of 'b' fires: nothing",
    ]
    chart = [line[:80] for line in lines[5:]]
    scale = lines[4]
    nine, twenty = round(scale.rindex("'") * 9 / 20), scale.rindex("'")
    assert chart[0].index("o") == pytest.approx(twenty / 20, abs=1)
    assert chart[1].index("t") == chart[4].index("T") == pytest.approx(nine, abs=1)
    assert chart[3].index("[") == 0
    assert chart[8].index(")") == twenty
    assert "x" in chart[5]


def test_the_watermark_moves_to_the_right() -> None:
    places = [line.index("|") for line in SHOWN.to_text(190).splitlines()[5:] if "|" in line[:80]]
    assert places == sorted(places)
    assert len(set(places)) == 2


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit(width: int) -> None:
    lines = SHOWN.to_text(width).splitlines()
    assert max(map(len, lines[4:])) <= width


def test_the_picture_has_everything() -> None:
    svg = SHOWN.to_svg()
    root = ET.fromstring(svg)
    name = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{name}circle")) == 2  # the elements that are in time and have one
    assert len(root.findall(f"{name}rect")) == 2
    told = ["".join(text.itertext()) for text in root.iter(f"{name}text")]
    assert {"hourly", "'<b>'", "('a', 2), LATE", "watermark", "20 s"} <= set(told)
    assert svg == SHOWN.to_svg()
    assert svg == SHOWN._repr_html_()


def test_a_file_of_its_own_has_colours_for_the_dark() -> None:
    assert "prefers-color-scheme" in SHOWN.to_svg(alone=True)
    assert "prefers-color-scheme" not in SHOWN.to_svg()


def test_nothing_has_come() -> None:
    empty = Timeline((OperatorTimeline("idle", (WatermarkMoved(MAX_WATERMARK),)),), True)
    assert empty.to_text().splitlines()[-1].endswith("end of input")
    ET.fromstring(empty.to_svg())


@pytest.mark.parametrize(
    ("times", "low", "high", "step"),
    [
        ((1, 4), 1, 4, 1),
        ((0, 9_999), 0, 10_000, 2_000),
        ((59_000, 61_000), 59_000, 61_000, 500),
        ((1_774_828_861_000, 1_774_828_999_000), 1_774_828_860_000, 1_774_829_010_000, 30_000),
    ],
)
def test_the_axis_has_round_marks(times: tuple[int, ...], low: int, high: int, step: int) -> None:
    axis = axis_of([Arrival("a", "a", time, False) for time in times])
    assert (axis.low, axis.high, axis.step) == (low, high, step)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (1_774_828_861_000, "00:01:01"),
        (1_774_828_861_250, "00:01:01.250"),
        (1_500, "1.5 s"),
        (-2_000, "-2 s"),
        (90_000, "90 s"),
        (120_000, "2 min"),
        (7_200_000, "2 h"),
        (0, "0"),
    ],
)
def test_times_are_shown_as_people_read_them(time: int, text: str) -> None:
    assert time_text(time) == text
