"""A walk through Flink's pages: everything that the browser or the API complains about is remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Page, Response, expect

PATIENCE = 60_000
"""ms that a page may take, on a busy machine; Flink's pages are large"""
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "worker-src 'self' blob:"
)
"""what Flink's pages need: styles and a handler that stand in the page itself, and a worker that draws"""
CLUSTER = (
    "overview",
    "application/running",
    "application/completed",
    "job/running",
    "job/completed",
    "task-manager",
    "job-manager/metrics",
    "job-manager/config",
    "job-manager/logs",
    "job-manager/stdout",
    "job-manager/log",
    "job-manager/thread-dump",
    "submit",
)
OF_JOB = ("overview", "exceptions", "dataskew", "timeline", "checkpoints", "configuration")
OF_VERTEX = (
    *("detail", "subtasks", "taskmanagers", "watermarks", "accumulators", "backpressure", "metrics", "flamegraph"),
)
OF_WORKER = ("metrics", "logs", "stdout", "log", "thread-dump")


@dataclass
class Walk:
    """A page, and what was wrong so far."""

    page: Page
    address: str
    wrong: list[str] = field(default_factory=list)

    def go(self, way: str) -> None:
        """Go to a place, and wait until nothing is loaded any more."""
        self.page.goto(f"{self.address}/#/{way}")
        self.page.reload()
        expect(self.page.locator("flink-root .ant-layout").first).to_be_visible(timeout=PATIENCE)
        self.page.wait_for_load_state("networkidle")
        expect(self.page.locator(".ant-skeleton:visible")).to_have_count(0, timeout=PATIENCE)

    def shows(self, way: str, texts: Sequence[str]) -> None:
        """Whether a place shows all of these texts."""
        self.go(way)
        for text in texts:
            expect(self.page.get_by_text(text).first).to_be_visible(timeout=PATIENCE)


@contextmanager
def walking(browser: Browser, address: str) -> Iterator[Walk]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    walk = Walk(page, address)

    def answered(response: Response) -> None:
        if response.status >= 400:
            walk.wrong.append(f"{response.status} {response.request.method} {response.url}")

    page.on("console", lambda told: walk.wrong.append(f"{told.type}: {told.text}") if told.type == "error" else None)
    page.on("pageerror", lambda error: walk.wrong.append(str(error)))
    page.on("response", answered)
    try:
        yield walk
    finally:
        context.close()
