"""The SQL page on a gateway of Millrace's own, whose jobs run in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.cluster.dashboard.browser import opened
from tests.cluster.dashboard.conftest import browser
from tests.cluster.dashboard.holder import StoryHolder
from tests.cluster.dashboard.serve import served, wait_for
from tests.cluster.gateway.local_jobs import run_here

from millrace.cli.program import RunSettings
from millrace.cli.program_jobs import hooks
from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings

__all__ = ["browser"]
NUMBERS = "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
NUMBERS += "'fields.n.start' = '1', 'fields.n.end' = '1000000', 'rows-per-second' = '50')"


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    run_here(monkeypatch)
    made = Gateway({"table.local-time-zone": "UTC", "parallelism.default": "1"}, idle=0)
    with hooks(RunSettings({}, ()), made.submit, made.listener):
        yield made
        made.stop()


def test_statements_results_and_the_end_of_a_query(gateway: Gateway, browser: Browser) -> None:
    rest = make_app(StoryHolder(), None, RestSettings(sql="sql"))
    app = Starlette(routes=[Mount("/sql", make_gateway_app(gateway, RestSettings())), Mount("/", rest)])
    with served(app) as address, opened(browser, f"{address}/#/sql") as page:
        box = page.get_by_label("SQL statements")
        box.fill("SELECT k, SUM(n) AS total FROM (VALUES ('a', 1), ('b', 2), ('a', 4)) AS t (k, n) GROUP BY k;")
        box.press("Control+Enter")
        sums = page.get_by_role("region", name="SELECT k")
        expect(sums).to_contain_text("Finished", timeout=30_000)
        assert sorted(sums.get_by_role("row").all_inner_texts()[1:]) == ["a\t5", "b\t2"]
        box.fill(f"{NUMBERS}; SELECT n FROM numbers;")
        box.press("Control+Enter")
        endless = page.get_by_role("region", name="SELECT n FROM numbers")
        expect(endless.get_by_role("row").nth(3)).to_be_visible(timeout=30_000)
        endless.get_by_role("button", name="Stop").click()
        expect(endless).to_contain_text("Canceled")
    wait_for(lambda: not gateway._sessions, "the session's end")
