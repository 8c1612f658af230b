"""Lines over time."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from millrace.util.charts import Course, charts

SVG = "{http://www.w3.org/2000/svg}"
NOON = 1_774_828_800_000 + 12 * 3_600_000


def lines(svg: str) -> list[list[tuple[float, float]]]:
    found = ET.fromstring(svg).findall(f"{SVG}polyline")
    return [
        [(float(x), float(y)) for x, y in (place.split(",") for place in line.get("points", "").split())]
        for line in found
    ]


def test_a_line_goes_through_its_values() -> None:
    course = Course("read", "/s", ((NOON, 0), (NOON + 1_000, 50), (NOON + 3_000, 100)))
    ((first, second, third),) = lines(charts([course], "job").svg())
    assert third[0] - first[0] == pytest.approx(3 * (second[0] - first[0]), abs=0.2)
    assert first[1] - third[1] == pytest.approx(2 * (first[1] - second[1]), abs=0.2)
    assert third[1] < first[1]


def test_courses_share_the_axis_of_time_and_are_told() -> None:
    svg = charts(
        [
            Course("read", "/s", ((NOON, 1_500), (NOON + 61_000, 2.25))),
            Course("late", "s", ((NOON + 61_000, 3),)),
            Course("nothing", "s", ()),
        ],
        "job",
    ).svg()
    texts = ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]
    assert {"read", "late", "now 2.25 /s", "max 1,500 /s", "now 3 s", "12:00:00", "12:01:01"} <= set(texts)
    assert "nothing" not in texts
    (_, end), (only,) = lines(svg)
    assert only[0] == end[0]


@pytest.mark.parametrize("points", [(), ((NOON, 1.0),)])
def test_one_moment_is_no_line(points: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ValueError, match="no two moments"):
        charts([Course("read", "/s", points)], "job")


def test_zeros_are_a_line_at_the_bottom() -> None:
    ((first, second),) = lines(charts([Course("read", "/s", ((NOON, 0), (NOON + 1, 0)))], "job").svg())
    assert first[1] == second[1]
