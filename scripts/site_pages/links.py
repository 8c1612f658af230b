"""Links of Markdown in the repository, as they are on the site: files that have no page there lose their link."""

from __future__ import annotations

import posixpath
import re

ROOT_PAGES = {
    name: f"project/{name.lower()}" for name in ("CHANGELOG.md", "CONTRIBUTING.md", "DEVELOPERS.md", "SECURITY.md")
}
"""pages of the repository's first folder -> where they are on the site"""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_CODE = re.compile(r"(^```.*?^```[^\n]*$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"^<!-- (run|file|output)\b.*?-->\n", re.MULTILINE)


def of_site(markdown: str, page: str) -> str:
    """The text of a page with links that lead to pages of the site.

    :param page: the page's place in the repository, ``docs/guide/state.md``.
    """
    parts = _CODE.split(_RUN.sub("", markdown))
    # Code, which the pattern finds, stands at the odd places. Links may have code in their text: it is put aside.
    aside = "".join(f"\x00{number}\x00" if number % 2 else part for number, part in enumerate(parts))
    turned = _LINK.sub(lambda found: _link(found[1], found[2], page), aside)
    return re.sub("\x00(\\d+)\x00", lambda found: parts[int(found[1])], turned)


def _link(text: str, target: str, page: str) -> str:
    if re.match(r"[a-z]+:|#", target):
        return f"[{text}]({target})"
    path, mark, anchor = target.partition("#")
    place = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    there = ROOT_PAGES.get(place) or (place.removeprefix("docs/") if place.startswith("docs/") else None)
    if there is None:
        return text
    here = ROOT_PAGES.get(page) or page.removeprefix("docs/")
    return f"[{text}]({posixpath.relpath(there, posixpath.dirname(here) or '.')}{mark}{anchor})"
