"""Texts without what is different each time: ids, times, hosts, ports, paths."""

from __future__ import annotations

import re

LONGEST = 160
CUT = ".."
"""stands at the end of what is longer"""
_PLACES: tuple[tuple[str, str], ...] = (
    (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>"),
    (r"\b[0-9a-f]{32}(_[0-9a-f]{32})?\b", "<id>"),
    (r"savepoint-[0-9a-f]{6}-[0-9a-f]{12}", "savepoint-<id>"),
    (r"(file:)?(/[\w.+-]+){2,}/(savepoint-<id>)", r"<path>/\3"),
    (r"(?<![\w/:>}-])(file:/*)?/(tmp|home|root|usr|var|opt|work|private|Users)(/[\w.+-]+)+/?", "<path>"),
    (r"\b(localhost|127\.0\.0\.1):\d+(-\w+)?", "<host>"),
    (r"@[0-9a-f]{5,8}\b", "@<id>"),
    (r"/result/\d+", "/result/<n>"),
    # Of today; what a query says about 2020 stays.
    (r"\b20(2[4-9]|[3-9]\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d([.,]\d+)?Z?", "<time>"),
    (r"\b\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d", "<time>"),
)


def constant(text: str) -> str:
    """A text with placeholders, not longer than it may be."""
    for pattern, name in _PLACES:
        text = re.sub(pattern, name, text)
    return text if len(text) <= LONGEST else text[:LONGEST] + CUT


def names_ids(text: str) -> str:
    """The placeholder of a text that is an id and nothing else, or the text itself."""
    for pattern, name in _PLACES[:2]:
        if re.fullmatch(pattern, text):
            return name
    return text


def message(text: str) -> str:
    """An error in one line: of a stack trace only the outermost exception, the last cause and what they say."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    traced = [line for line in lines if not line.startswith(("at ", "... ", "End of exception"))]
    if len(traced) == len(lines) and len(lines) <= 1:
        return f"={constant(text.strip())}"
    causes = [line for line in traced if line.startswith("Caused by: ")]
    head = traced[1] if traced and traced[0].startswith("<Exception on server side") and len(traced) > 1 else traced[0]
    told = [head, *(causes[-1:])]
    return "=" + " / ".join(constant(line) for line in told)


def says(kept: str) -> str:
    """What a kept message says, without the names of Java's exceptions and without the cause."""
    return re.sub(r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ", "", kept.removeprefix("=").split(" / Caused by: ")[0])
