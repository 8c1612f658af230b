"""The queries of the shop against the same in plain Python."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import user_behavior
from tests.local_jobs import run_jobs_locally

COUNT = 4_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    user_behavior.write_events(str(tmp_path), COUNT, seed=7)
    return tmp_path


def events_of(folder: Path) -> list[tuple[int, int, str, datetime]]:
    events = map(json.loads, (folder / "events.json").read_text().splitlines())
    return [(e["user_id"], e["category_id"], e["behavior"], datetime.fromisoformat(e["ts"])) for e in events]


def buys_per_hour(folder: Path) -> list[str]:
    return [
        f"{hour},{n}" for hour, n in Counter(at.hour for _, _, what, at in events_of(folder) if what == "buy").items()
    ]


def visitors_so_far(folder: Path) -> list[str]:
    """Every ten minutes of the day, from the first event on."""
    events = events_of(folder)
    ends = [user_behavior.DAY + timedelta(minutes=10 * step) for step in range(1, 145)]
    found = [(end, len({user for user, _, _, at in events if at < end})) for end in ends]
    return [f'"{end}",{visitors}' for end, visitors in found if visitors]


def top_categories(folder: Path) -> set[str]:
    buys = Counter(user_behavior.CATEGORIES[category] for _, category, what, _ in events_of(folder) if what == "buy")
    ranking = sorted(buys.items(), key=lambda entry: (-entry[1], entry[0]))
    return {f"{place}, {name}, {n}" for place, (name, n) in enumerate(ranking[:3], start=1)}


def final(printed: str) -> set[str]:
    """The table after all printed changes."""
    content: Counter[str] = Counter()
    for kind, row in re.findall(r"([+-][IUD])\[(.*)\]", printed):
        content[row] += 1 if kind in ("+I", "+U") else -1
    assert set(content.values()) <= {0, 1}
    return {row for row, count in content.items() if count}


def check(folder: Path, printed: str) -> None:
    assert Counter(user_behavior.lines_of(str(folder / "buys_per_hour"))) == Counter(buys_per_hour(folder))
    assert sorted(user_behavior.lines_of(str(folder / "visitors_so_far"))) == sorted(visitors_so_far(folder))
    assert final(printed) == top_categories(folder)


def test_results(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_jobs_locally(monkeypatch)
    user_behavior.statements(str(folder)).execute().wait()
    check(folder, capsys.readouterr().out)


@pytest.mark.usefixtures("spark")
def test_results_on_spark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user_behavior.statements(str(folder)).execute().wait()
    check(folder, capsys.readouterr().out)


def test_events_are_of_the_day_and_hardly_out_of_order(folder: Path) -> None:
    times = [at for _, _, _, at in events_of(folder)]
    assert len(times) == COUNT
    assert {at.date() for at in times} == {user_behavior.DAY.date()}
    latest = times[0]
    for at in times:
        assert at > latest - timedelta(seconds=user_behavior.OUT_OF_ORDER_S)
        latest = max(latest, at)
