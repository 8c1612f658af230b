"""The demo from end to end: Kafka, a database, three queries, OpenSearch, and a page that draws what is there."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.cluster.dashboard.browser import PATIENCE, chromium, opened
from tests.connectors.search.indexes import Indexes
from tests.local_jobs import run_jobs_locally
from tests.services import missing

from millrace.testing.services import Kafka, MariaDB, ServiceUnavailable

EXAMPLES = Path(__file__).parents[3] / "examples"
COUNT = 3_000
pytestmark = pytest.mark.services


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import user_behavior_search

    return user_behavior_search


@pytest.fixture
def events(demo: Any, tmp_path: Path) -> list[dict[str, Any]]:
    demo.user_behavior.write_events(str(tmp_path), COUNT, seed=7)
    return [json.loads(line) for line in (tmp_path / "events.json").read_text().splitlines()]


@pytest.fixture
def browser() -> Iterator[Any]:
    try:
        with chromium() as found:
            yield found
    except ServiceUnavailable as error:
        missing(error)


def buys(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in events if each["behavior"] == "buy"]


def expected(demo: Any, events: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """The documents of the three indexes, by plain Python."""
    hours = Counter(datetime.fromisoformat(each["ts"]).hour for each in buys(events))
    ends = [demo.user_behavior.DAY + timedelta(minutes=10 * step) for step in range(1, 145)]
    users = [
        (end, len({each["user_id"] for each in events if datetime.fromisoformat(each["ts"]) < end})) for end in ends
    ]
    points = {}
    for end, count in users:
        day, time = (end - timedelta(minutes=10)).isoformat(" ", "minutes").split(" ")
        if count:
            points[f"{day}_{time}"] = {"date_str": day, "time_str": time, "uv": count}
    names = demo.user_behavior.CATEGORIES
    known = {number: demo.PARENTS[name] for number, name in enumerate(names[:-1])}
    top = Counter(known.get(each["category_id"], "Other") for each in buys(events))
    return {
        "buy_cnt_per_hour": {str(hour): {"hour_of_day": hour, "buy_cnt": count} for hour, count in hours.items()},
        "cumulative_uv": points,
        "top_category": {name: {"category_name": name, "buy_cnt": count} for name, count in top.items()},
    }


def run(demo: Any, events: Any, broker: Kafka, mariadb: MariaDB, indexes: Indexes, browser: Any) -> None:
    prefix = f"d-{uuid.uuid4().hex[:8]}-"
    demo.write_topic(broker.bootstrap, prefix, [json.dumps(each) for each in events])
    demo.write_categories(mariadb)
    with demo.served(indexes.url, prefix) as address, opened(browser, address) as page:
        expect(page.locator("#state")).to_have_text("Nothing is there yet.", timeout=PATIENCE)
        demo.statements(broker.bootstrap, prefix, mariadb, indexes.url, prefix).execute().wait()
        wanted = expected(demo, events)
        assert {name: indexes.documents(prefix + name) for name in wanted} == wanted
        hours, points, top = wanted.values()
        expect(page.locator("#buy_cnt_per_hour rect")).to_have_count(len(hours), timeout=PATIENCE)
        line = re.compile(rf"^(\S+ ){{{len(points) - 1}}}\S+$")
        expect(page.locator("#cumulative_uv polyline")).to_have_attribute("points", line, timeout=PATIENCE)
        most = max(each["uv"] for each in points.values())
        expect(page.locator("#cumulative_uv text").first).to_have_text(f"{most:,}", timeout=PATIENCE)
        ranking = sorted(top.values(), key=lambda each: (-each["buy_cnt"], each["category_name"]))
        texts = [text for each in ranking for text in (each["category_name"], f"{each['buy_cnt']:,}")]
        expect(page.locator("#top_category text")).to_have_text(texts, timeout=PATIENCE)
        expect(page.locator("#state")).to_have_text("", timeout=PATIENCE)


def test_charts(
    demo: Any,
    events: list[dict[str, Any]],
    broker: Kafka,
    mariadb: MariaDB,
    on_opensearch: Indexes,
    browser: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_jobs_locally(monkeypatch)
    run(demo, events, broker, mariadb, on_opensearch, browser)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_charts_on_spark(
    demo: Any, events: list[dict[str, Any]], broker: Kafka, mariadb: MariaDB, on_opensearch: Indexes, browser: Any
) -> None:
    run(demo, events, broker, mariadb, on_opensearch, browser)
