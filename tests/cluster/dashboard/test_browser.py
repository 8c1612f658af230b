"""The dashboard in Chromium: what it shows, what it does, and that everyone can use it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from tests.cluster.dashboard.browser import PATIENCE, opened
from tests.cluster.dashboard.conftest import Dashboard
from tests.cluster.dashboard.serve import Site, served, wait_for
from tests.cluster.documents import id_of
from tests.rings import taken

expect.set_options(timeout=PATIENCE)
pytestmark = pytest.mark.services

ORDERS, CLICKS, WIDE = id_of("orders"), id_of("Clicks"), id_of("Warehouse of everything")
WINDOW = id_of("TumblingEventTimeWindows -> Map")
TABS = ("overview", "exceptions", "timeline", "checkpoints", "state", "configuration", "logs")
DRAWER = ("detail", "subtasks", "watermarks", "pressure", "metrics", "flame", "accumulators", "executors")
PLACES = [
    "",
    *(f"jobs/{ORDERS}/{tab}" for tab in TABS),
    *(f"jobs/{ORDERS}/overview/{WINDOW}/{tab}" for tab in DRAWER),
    f"jobs/{CLICKS}",
    f"jobs/{CLICKS}/exceptions",
    f"jobs/{WIDE}",
    f"jobs/{id_of('Import of March')}",
    "executors",
    *(f"executors/executor-1/{tab}" for tab in ("memory", "metrics", "logs/orders.log", "threads")),
    *(f"manager/{tab}" for tab in ("configuration", "metrics", "logs/orders.log", "threads")),
    "submit",
    "sql",
    "nowhere",
]


def settled(page: Page) -> None:
    expect(page.locator("h1").first).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)


def go(page: Page, way: str) -> None:
    page.evaluate("way => { location.hash = '#/' + way }", way)
    settled(page)


def violations(page: Page) -> list[str]:
    # Beside an open vertex stands what another place has shown already.
    part = "aside" if page.locator("aside").count() else None
    found = Axe().run(page, context=part, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:150]}" for each in found]


@pytest.mark.parametrize(
    ("theme", "width", "places"), [("light", 1280, taken(PLACES, 3)), ("dark", 800, taken(PLACES, 6))]
)
def test_every_page_is_accessible_and_fits(dashboard: Dashboard, theme: str, width: int, places: list[str]) -> None:
    found = {}
    with dashboard.at(color_scheme=theme, viewport={"width": width, "height": 900}) as page:
        for place in places:
            go(page, place)
            wrong = violations(page)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append("wider than the window")
            if wrong:
                found[place] = wrong
    assert found == {}, json.dumps(found, indent=1)


def test_the_overview_lists_jobs_with_live_numbers(dashboard: Dashboard) -> None:
    with dashboard.at() as page:
        running = page.get_by_role("row", name="Orders per minute and country")
        expect(running).to_contain_text("Running")
        expect(running).to_contain_text(re.compile(r"\d/s"))
        expect(running).to_contain_text("Warning: The watermark of")
        expect(page.get_by_role("row", name="Import of March")).to_contain_text("Failed")
        expect(page.get_by_role("link", name="Trial <b>run</b>")).to_be_visible()
        page.get_by_role("link", name="Nightly report").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Nightly report")


def test_findings_lead_to_their_vertex_and_the_keyboard_back(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{ORDERS}") as page:
        expect(page.get_by_role("heading", name="Why is it slow?")).to_be_visible()
        slow = page.get_by_role("listitem").filter(has_text="“Sink: warehouse” works")
        slow.get_by_role("button", name="Show the vertex").click()
        drawer = page.get_by_role("complementary", name="Vertex Sink: warehouse")
        expect(drawer.locator("h2")).to_be_focused()  # it is there a moment before it listens
        page.keyboard.press("Escape")
        expect(drawer).to_have_count(0)
        node = page.locator(f"#vertex-{WINDOW}")
        expect(node).to_have_accessible_name(re.compile("back-pressured 62 %.*skew 92 %.*note: 66 % of what"))
        node.focus()
        page.keyboard.press("Enter")
        expect(page.locator("aside h2")).to_be_focused()
        page.get_by_role("link", name="Subtasks").click()
        expect(page.get_by_role("group", name="Subtasks").get_by_role("row")).to_have_count(5)
        page.keyboard.press("Escape")
        expect(node).to_be_focused()


OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll('.node')].map((node) => node.getBoundingClientRect());
    const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) => !apart(a, b))).length;
}"""


def test_a_refresh_changes_numbers_in_place(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{WIDE}") as page:
        expect(page.locator("button.node")).to_have_count(60)
        assert page.evaluate(OVERLAPS) == 0
        # Not wait_for_function: the page's policy forbids what that does.
        expect(page.locator(".node .line").first).to_contain_text("/s")
        page.evaluate(
            """() => {
                window.made = 0; window.written = 0;
                window.before = [...document.querySelectorAll('.node')];
                window.places = window.before.map((node) => node.style.cssText);
                new MutationObserver((all) => all.forEach((one) => {
                    if (one.type === 'characterData') window.written += 1;
                    else if ([...one.addedNodes].some((node) => node.classList?.contains('node'))) window.made += 1;
                })).observe(document.querySelector('.graph'), {subtree: true, childList: true, characterData: true});
            }"""
        )
        wait_for(lambda: page.evaluate("window.written > 60"), "numbers that change")
        assert page.evaluate("window.made") == 0
        assert page.evaluate("[...document.querySelectorAll('.node')].every((node, at) => node === window.before[at])")
        assert page.evaluate("window.before.every((node, at) => node.style.cssText === window.places[at])")


LAYOUT = """async ([nodes, pairs, right]) => {
    const { layout } = await import('./graph/layout.js');
    const edges = pairs.map(([from, to], number) => ({ from, to, number }));
    const size = right ? { along: 100, across: 40 } : { along: 40, across: 100 };
    const found = layout(nodes, edges, { ...size, gapAlong: 30, gapAcross: 10 });
    const turned = found.ways.filter((way) => way.turned).map((way) => way.edge.number);
    return { at: Object.fromEntries(found.at), turned, across: found.across, along: found.along };
}"""
SHAPES: dict[str, tuple[list[str], list[tuple[str, str]], int]] = {
    "one": (["a"], [], 0),
    "diamond": (list("abcd"), [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")], 0),
    "twice the same edge": (list("ab"), [("a", "b"), ("a", "b")], 0),
    "a loop": (list("abc"), [("a", "b"), ("b", "c"), ("c", "b")], 1),
    "itself": (list("a"), [("a", "a")], 0),
    "two parts": (list("abcd"), [("a", "b"), ("c", "d")], 0),
    "an edge to nothing": (list("a"), [("x", "a")], 0),
}


def test_boxes_do_not_overlap_and_edges_lead_forward(dashboard: Dashboard) -> None:
    with dashboard.at() as page:
        for nodes, edges, turned in SHAPES.values():
            for right in (True, False):
                found = page.evaluate(LAYOUT, [nodes, edges, right])
                assert len(found["turned"]) == turned
                assert set(found["at"]) == set(nodes)
                check_places(found, edges, (100, 40) if right else (40, 100))


def check_places(found: dict[str, Any], edges: list[tuple[str, str]], size: tuple[int, int]) -> None:
    places = found["at"]
    for number, (one, other) in enumerate(edges):
        if one in places and other in places and one != other and number not in found["turned"]:
            assert places[other]["along"] >= places[one]["along"] + size[0]
    for one, place in places.items():
        assert 0 <= place["across"] <= found["across"] - size[1]
        for other in places:
            apart = [abs(place[axis] - places[other][axis]) for axis in ("along", "across")]
            assert one == other or apart[0] >= size[0] or apart[1] >= size[1]


def test_cancelling_asks_first_and_tells_what_happens(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{ORDERS}") as page:
        page.get_by_role("button", name="Cancel job").click()
        dialog = page.get_by_role("dialog", name="Cancel this job?")
        expect(dialog).to_contain_text("is kept")
        dialog.get_by_role("button", name="Keep it running").click()
        expect(dialog).to_have_count(0)
        assert dashboard.site.holder.asked == []
        page.get_by_role("button", name="Cancel job").click()
        dialog.get_by_role("button", name="Cancel job").click()
        expect(page.locator(".job-head .state")).to_contain_text("Canceled")
        expect(page.get_by_role("status")).to_contain_text("is canceled now")
        expect(page.get_by_role("button", name="Cancel job")).to_have_count(0)
    assert dashboard.site.holder.asked == [("cancel", ORDERS)]


def test_savepoints_show_their_path_or_why_not(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{ORDERS}") as page:
        dashboard.site.holder.fails = "no space left in s3://bucket"
        page.get_by_role("button", name="Take savepoint").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Directory").fill("file:/tmp/mine")
        dialog.get_by_role("button", name="Take savepoint").click()
        expect(dialog.get_by_role("alert")).to_contain_text("no space left in s3://bucket")
        dashboard.site.holder.fails = None
        dialog.get_by_role("button", name="Take savepoint").click()
        expect(page.get_by_role("dialog", name="Savepoint completed")).to_contain_text("file:/tmp/mine/savepoint-1")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Stop with savepoint").click()
        dialog.get_by_label("Drain").check()
        dialog.get_by_role("button", name="Stop job").click()
        expect(page.get_by_role("dialog", name="Savepoint completed")).to_contain_text("/savepoints/savepoint-1")
    asked = dashboard.site.holder.asked
    assert asked == [("savepoint", "file:/tmp/mine", False)] * 2 + [("stop", None, True)]


def test_a_checkpoint_is_taken_and_the_history_opened(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{ORDERS}/checkpoints") as page:
        page.get_by_role("button", name="Take a checkpoint now").click()
        expect(page.get_by_text("Checkpoint 62 completed").first).to_be_visible()
        page.get_by_role("group", name="Checkpoints", exact=True).get_by_role("button", name="54").click()
        expect(page.get_by_text("OSError: Slow down (503)").last).to_be_visible()
        expect(page.get_by_role("group", name="Vertices of checkpoint 54").get_by_role("row")).to_have_count(6)


def test_the_users_line_comes_first(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{CLICKS}/exceptions") as page:
        first = page.locator(".failure").first
        expect(first.get_by_role("heading")).to_contain_text("orders.py:42 in parse: could not convert")
        expect(first.locator(".stack .own").first).to_contain_text('File "/home/ada/orders.py", line 42')
        expect(page.locator(".cause")).to_contain_text("8 times")


def test_metrics_are_picked_and_plotted(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{ORDERS}/overview/{WINDOW}/metrics") as page:
        page.get_by_text("Choose metrics").click()
        page.get_by_label("Search").fill("latency")
        page.get_by_label("Map.latency_p99").check()
        expect(page.get_by_role("img", name=re.compile(r"Map\.latency_p99: subtask 0 \d+ ms"))).to_be_visible()
        page.reload()
        expect(page.get_by_role("img", name=re.compile(r"Map\.latency_p99"))).to_be_visible()


def test_a_program_is_uploaded_planned_and_started(dashboard: Dashboard) -> None:
    with dashboard.at("submit") as page:
        file = {"name": "job.py", "mimeType": "text/x-python", "buffer": b"print(1)"}
        page.get_by_label("Upload a Python file").set_input_files(files=[file])
        form = page.get_by_role("form", name="Start job.py")
        form.get_by_label("Arguments").fill("""--name "two words" 'it''s' a\\ b""")
        form.get_by_label("Parallelism").fill("3")
        form.get_by_role("button", name="Show plan").click()
        expect(form.locator("div.node")).to_have_count(5)
        form.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Orders per minute and country")
        go(page, "submit")
        page.get_by_role("button", name="Delete job.py").click()
        expect(page.get_by_text("No program has been uploaded yet.")).to_be_visible()
    (launch,) = dashboard.site.programs.launched
    assert launch.arguments == ("--name", "two words", "its", "a b")
    assert launch.parallelism == 3


def test_sql_shows_rows_as_they_change(dashboard: Dashboard) -> None:
    with dashboard.at("sql") as page:
        box = page.get_by_label("SQL statements")
        box.fill("SELECT ';' AS x; -- one; more\nSELECT country, COUNT(*) AS orders FROM t GROUP BY country;")
        box.press("Control+Enter")
        expect(page.get_by_role("region", name="SELECT country")).to_contain_text("Finished")
        rows = page.get_by_role("region", name="SELECT country").get_by_role("row")
        expect(rows).to_have_text(["countryorders", "fr4", "de2"])
        page.get_by_role("region", name="SELECT country").get_by_role("button", name="Chart").click()
        expect(page.get_by_role("img", name="orders: 2 values, the largest 4, the last 2")).to_be_visible()
        go(page, "executors")
        go(page, "sql")
        expect(rows).to_have_count(3)
        assert dashboard.site.gateway.closed == []
        page.goto("about:blank")
        wait_for(lambda: dashboard.site.gateway.closed == ["/sql/v2/sessions/s1"], "the session's end")
    assert dashboard.site.gateway.statements[:2] == [
        "SELECT ';' AS x",
        "SELECT country, COUNT(*) AS orders FROM t GROUP BY country",
    ]


def test_times_are_in_the_users_zone_with_utc_on_hover(dashboard: Dashboard) -> None:
    with dashboard.at(f"jobs/{ORDERS}", timezone_id="America/New_York", locale="en-US") as page:
        shown = page.locator(".facts-line time").first
        title = shown.get_attribute("title") or ""
        hour = int(re.findall(r" (\d\d):", title)[0])
        local = int(re.findall(r"(\d\d):\d\d:\d\d", shown.inner_text())[0])
        assert title.endswith("UTC") and (hour - local) % 24 in (4, 5)


def test_the_chosen_theme_lasts(dashboard: Dashboard) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    with dashboard.at(color_scheme="light") as page:
        light = page.evaluate(background)
        page.get_by_label("Theme").select_option("Dark")
        dark = page.evaluate(background)
        page.reload()
        assert page.evaluate(background) == dark != light
        page.get_by_label("Theme").select_option("System")
        assert page.evaluate(background) == light


def test_flinks_own_addresses_lead_here(dashboard: Dashboard) -> None:
    with dashboard.at(f"job/running/{ORDERS}/checkpoints") as page:
        expect(page.get_by_role("heading", name="Durations")).to_be_visible()
        go(page, "task-manager/executor-1/logs")
        expect(page.get_by_role("heading", level=1)).to_have_text("Executor executor-1")


def test_without_the_token_nothing_is_changed_and_the_page_says_why(browser: Browser) -> None:
    site = Site()
    with served(site.app(token="secret-word")) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}/#/jobs/{ORDERS}")
        page.get_by_role("button", name="Cancel job").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Cancel job").click()
        expect(dialog.get_by_role("alert")).to_contain_text("Open the link with the token")
        assert site.holder.asked == []
        context.close()
        with opened(browser, f"{address}/?token=secret-word#/jobs/{ORDERS}") as page:
            assert "secret-word" not in page.url
            page.get_by_role("button", name="Cancel job").click()
            page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
            expect(page.locator(".job-head .state")).to_contain_text("Canceled")


def test_a_history_server_shows_what_it_knows(browser: Browser) -> None:
    with served(Site().app(history=True)) as address, opened(browser, address) as page:
        expect(page.get_by_role("navigation", name="Main").get_by_role("link")).to_have_text(["Overview", "SQL"])
        page.get_by_role("link", name="Import of March").click()
        expect(page.get_by_text("The job failed: ValueError: orders.py:42")).to_be_visible()
        for tab in TABS:
            go(page, f"jobs/{id_of('Import of March')}/{tab}")
        go(page, f"jobs/{id_of('Import of March')}/overview/{id_of('Source: files')}/flame")
        expect(page.get_by_text("there is nothing to sample")).to_be_visible()
        expect(page.get_by_role("button", name="Cancel job")).to_have_count(0)


def test_a_server_that_is_gone_and_a_job_that_is_not_there(browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    with served(Site().app()) as address:
        page.goto(f"{address}/#/jobs/{'0' * 32}")
        expect(page.get_by_role("alert")).to_contain_text(f"Job {'0' * 32} not found")
        go_there = f"{address}/#/jobs/{ORDERS}"
        page.goto(go_there)
        expect(page.get_by_role("heading", level=1)).to_have_text("Orders per minute and country")
    expect(page.get_by_text("The server does not answer. What you see is from before.").first).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Orders per minute and country")
    context.close()
