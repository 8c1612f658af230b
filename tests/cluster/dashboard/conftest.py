"""One browser and one server for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.cluster.dashboard.browser import chromium, opened
from tests.cluster.dashboard.serve import Site, served
from tests.services import missing

from millrace.testing.services import ServiceUnavailable


@dataclass(frozen=True)
class Dashboard:
    """A site, and pages that look at it."""

    site: Site
    address: str
    browser: Browser

    def at(self, way: str = "", **options: Any) -> AbstractContextManager[Page]:
        return opened(self.browser, f"{self.address}/#/{way}", **options)


# Not for the whole session: an event loop runs in this thread as long, and other tests want one of their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        with chromium() as found:
            yield found
    except ServiceUnavailable as error:
        missing(error)


@pytest.fixture(scope="module")
def site_address(browser: Browser) -> Iterator[tuple[Site, str]]:
    site = Site()
    with served(site.app()) as address:
        yield site, address


@pytest.fixture
def dashboard(browser: Browser, site_address: tuple[Site, str]) -> Dashboard:
    site, address = site_address
    site.holder.states.clear()
    site.holder.asked.clear()
    site.holder.fails = None
    return Dashboard(site, address, browser)
