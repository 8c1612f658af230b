"""docs/configuration.md is what the registry says."""

from __future__ import annotations

from scripts.configuration import TARGET, page

from millrace.configuration.registry import options


def test_the_page_is_up_to_date() -> None:
    assert TARGET.read_text("utf-8") == page(), "write it anew: make configuration"


def test_every_key_is_on_it() -> None:
    text = page()
    assert [key for key in options() if f"`{key}`" not in text] == []
