"""Pictures of ours as part of the page: so they have its colours, also when the reader chooses another scheme."""

from __future__ import annotations

import re
from pathlib import Path

_PICTURE = re.compile(r"^!\[([^\]]*)\]\(([^()\s]*pictures/[a-z-]+\.svg)\)$", re.MULTILINE)
_STYLE = re.compile(r"<style>.*?</style>\n?", re.DOTALL)


def inline(markdown: str, page: Path) -> str:
    """The text of a page with each picture in the place of the link to it.

    :param page: the file that the links start from.
    """
    return _PICTURE.sub(lambda found: _figure(found[1], page.parent / found[2]), markdown)


def _figure(told: str, picture: Path) -> str:
    drawn = _STYLE.sub("", picture.read_text("utf-8")).strip()
    return f"<figure>\n{drawn}\n<figcaption>{told}</figcaption>\n</figure>"
