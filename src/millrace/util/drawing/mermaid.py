"""A drawing as text of Mermaid, which GitHub, notebooks and most documentation tools show as a picture."""

from __future__ import annotations

from millrace.util.drawing.boxes import Drawing

_MEANT = {"&": "#38;", '"': "#34;", "<": "#60;", ">": "#62;", "`": "#96;", "#": "#35;", "|": "#124;"}


def mermaid(drawing: Drawing) -> str:
    """The text of a flow chart from left to right."""
    names = {box.id: f"n{index}" for index, box in enumerate(drawing.boxes)}
    lines = ["flowchart LR"]
    for box in drawing.boxes:
        text = "<br/>".join(map(_escaped, (box.title, *box.lines)))
        lines.append(f'    {names[box.id]}["{text}"]')
    for arrow in drawing.arrows:
        label = f'|"{_escaped(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {names[arrow.source]} -->{label} {names[arrow.target]}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return "".join(_MEANT.get(each, each) for each in " ".join(text.split()))
