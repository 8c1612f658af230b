"""Rows as a table of HTML: every text escaped, in the colours of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_MOST = 200
"""characters of a cell that are shown"""


def grid(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """
    :param types: below the names; as many, or none.
    :param note: a line below.
    """
    kinds = types or [""] * len(names)
    head = "".join(
        f"<th>{escape(name)}{f'<br><small>{escape(kind)}</small>' if kind else ''}</th>"
        for name, kind in zip(names, kinds)
    )
    body = "".join(f"<tr>{''.join(f'<td>{escape(_shown(cell))}</td>' for cell in row)}</tr>" for row in rows)
    below = f"<p><small>{escape(note)}</small></p>" if note else ""
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def _shown(text: str) -> str:
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def folded(title: str, content: str) -> str:
    """Something that is seen once it is asked for."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"
