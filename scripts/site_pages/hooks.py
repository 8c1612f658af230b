"""What mkdocs calls while it builds: pages that are made, links that are turned, the order of the pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from scripts.site_pages import api, links, pictures  # noqa: E402  (mkdocs loads this file by its path)

_REFERENCE = (
    "cheat-sheet", "error-index", "configuration", "pyflink-compatibility", "differences",
    "rest-differences", "connector-faults", "catalogue", "services", "glossary",
)  # fmt: skip
_SQL = ("sql/statements", "sql-functions", "sql/types", "sql/hints", "sql/connectors", "sql/formats")
_MIGRATION = ("pyflink", "structured-streaming", "java", "other-libraries")
_INSIDE = ("architecture", "performance", "open-points")


def on_config(config: Any) -> Any:
    """The order of the pages: in a folder it is that of the table on its first page."""
    decisions = sorted(path.name for path in (ROOT / "docs/adr").glob("0*.md"))
    config.nav = [
        {"Home": "index.md"},
        {"Tutorials": [*_folder("tutorials"), "gallery.md"]},
        {"Concepts": _folder("concepts")},
        {"How do I ...?": _folder("how-to")},
        {"Guide": _folder("guide")},
        {"Coming from": [f"migration/{name}.md" for name in _MIGRATION]},
        {"Reference": [{"SQL": [f"{name}.md" for name in _SQL]}, *(f"{name}.md" for name in _REFERENCE)]},
        {"API": [{title: list(pages)} for title, pages in api.pages().items()]},
        {
            "Inside": [
                *(f"{name}.md" for name in _INSIDE),
                {"Decisions": ["adr/README.md", *(f"adr/{name}" for name in decisions)]},
                {"Project": list(links.ROOT_PAGES.values())},
            ]
        },
    ]
    return config


def _folder(name: str) -> list[str]:
    first = (ROOT / "docs" / name / "README.md").read_text("utf-8")
    pages = re.findall(r"^\| \[[^\]]*\]\(([a-z-]+)\.md\)", first, re.MULTILINE)
    return [f"{name}/README.md", *(f"{name}/{page}.md" for page in pages)]


def on_files(files: Files, config: Any) -> Files:
    """The pages that are not in docs/: those of the API, and of the repository's first folder."""
    for pages in api.pages().values():
        for place, text in pages.items():
            files.append(File.generated(config, place, content=text))
    for name, place in links.ROOT_PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """A page's links lead to pages of the site."""
    place = page.file.src_uri
    if place.startswith("api/"):
        return markdown
    at = {there: name for name, there in links.ROOT_PAGES.items()}.get(place, f"docs/{place}")
    return pictures.inline(links.of_site(markdown, at), ROOT / "docs" / place)
