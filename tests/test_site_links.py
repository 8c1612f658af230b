"""Links of the repository's Markdown on the documentation site."""

from __future__ import annotations

import pytest
from scripts.site_pages.links import of_site


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("docs/guide/state.md", "[a](windows.md#late)", "[a](windows.md#late)"),
        ("docs/guide/state.md", "[a](../../DEVELOPERS.md#x)", "[a](../project/developers.md#x)"),
        ("docs/guide/state.md", "see [`demo`](../../examples/demo.py).", "see `demo`."),
        ("docs/index.md", "[a](https://example.com) [b](#c)", "[a](https://example.com) [b](#c)"),
        ("DEVELOPERS.md", "[a](docs/x.md) [b](CONTRIBUTING.md)", "[a](../x.md) [b](contributing.md)"),
        ("docs/index.md", "`[a](../src/x.py)` [b](../src/x.py)", "`[a](../src/x.py)` b"),
        ("docs/index.md", "<!-- run: local -->\n```python\nx[0](../y)\n```\n", "```python\nx[0](../y)\n```\n"),
    ],
)  # fmt: skip
def test_links(page: str, text: str, expected: str) -> None:
    assert of_site(text, page) == expected
