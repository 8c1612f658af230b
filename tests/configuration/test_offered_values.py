"""Every value that a page gives a key is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.corpus import corpus

from millrace.configuration.registry import problem_with

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in ROOT.glob("docs/**/*.md") if page.name != "error-index.md")]
"""The index of errors shows values that are wrong."""

_KEY = r"(?P<key>[a-z][\w\-]*(?:\.[\w\-]+)+)"
OFFERS = (
    re.compile(rf"`{_KEY}\s*[:=]\s*(?P<value>[^`]+)`"),
    re.compile(rf"-D\s*{_KEY}=(?P<value>[^\s`'\"]+)"),
    re.compile(rf"SET\s+'{_KEY}'\s*=\s*'(?P<value>[^']*)'"),
    re.compile(rf"set(?:_string)?\(\s*[\"']{_KEY}[\"'],\s*[\"'](?P<value>[^\"']*)[\"']\)"),
    re.compile(rf"^{_KEY}:\s+(?P<value>[^#\n]+?)\s*(?:#.*)?$", re.MULTILINE),
)


def offers(text: str) -> Iterator[tuple[str, str]]:
    for pattern in OFFERS:
        for found in pattern.finditer(text):
            if "..." not in found["value"]:
                yield found["key"], found["value"]


@corpus("page", PAGES, 116)
def test_values_of_a_page_are_taken(page: Path) -> None:
    problems = [problem_with(key, value) for key, value in offers(page.read_text("utf-8"))]
    assert [each for each in problems if each is not None] == []


def test_offers_are_found() -> None:
    text = "`rest.port: none` and -D a.b=c, `SET 'x.y' = 'z'`, env.set(\"k.l\", 'm')\nn.o: 1 min # p\n`q.r = s`"
    expected = [("rest.port", "none"), ("q.r", "s"), ("a.b", "c,"), ("x.y", "z"), ("k.l", "m"), ("n.o", "1 min")]
    assert list(offers(text)) == expected
