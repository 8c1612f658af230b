"""What was seen of faults, kept as JSON, and the page that tells it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from millrace.testing.connectors.faults import Fault, Observation

ROOT = Path(__file__).parents[3]
FILE = ROOT / "tests" / "data" / "connector_faults.json"
PAGE = ROOT / "docs" / "connector-faults.md"
STEPS = (1, 2, 5, 10, 20, 30, 60, 120)
"""seconds, of which the page names the next larger one"""
CUT = 220
HEAD = """# When a server fails

What a user sees of each connector when something is wrong with its server: the first line of the error's cause, and how
soon it came; or that the job went on and nothing was lost. Jobs without Spark and real servers (or what
[services.md](services.md) says of their stand-ins) were asked, by `tests/connectors/faults`;
`scripts/connector_faults.py` writes this page from what they recorded, and a test fails where the two differ. `make
test` has the faults that need no server, `make connectors` all. "Gone for a moment" is 0.7 s between two epochs of a
job.

Where a job fails, a restart strategy takes it on from its last checkpoint. "Within" is what was measured with the
options, or else the connector's own deadlines, at their shortest: without retries, and with about half a second until a
silent server is given up. **Waits** says how long that is otherwise.
"""


def kept() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text("utf-8"))) if FILE.exists() else {}


def keep(name: str, fault: Fault, seen: dict[str, Any]) -> None:
    found = kept()
    found.setdefault(name, {})[fault.name] = seen
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def recording(seen: Observation, names: list[str]) -> dict[str, Any]:
    """What is kept: without what differs from run to run."""
    within = next((step for step in STEPS if seen.seconds <= step), STEPS[-1])
    return {"says": None if seen.says is None else plain(seen.says, names), "within": within}


def plain(text: str, names: list[str]) -> str:
    """A message without ports, names that tests made up, numbers of processes."""
    for name in filter(None, names):
        text = text.replace(name, "<name>")
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<name>", text)
    text = re.sub(r"(127\.0\.0\.1|localhost)(['\"]?,? ?(?:port )?:? ?)\d{4,5}", r"\1\2<port>", text)
    text = re.sub(r"\b(?:[a-z]+[_/-])?[mtscdqi]?[0-9]*[_/-]?[0-9a-f]{8,}\b", "<name>", text)
    text = re.sub(r"\d+ms\b", "<ms>", text)
    text = re.sub(r"/tmp/[^\s'\",:)]+", "<folder>", text)
    text = re.sub(r"0x[0-9a-f]+", "<address>", text)
    return text if len(text) <= CUT else text[:CUT] + " ..."


def same(seen: dict[str, Any], recorded: dict[str, Any]) -> bool:
    """Whether the same was seen. Behind the address are the words of a library: how it puts it that a connection is
    gone depends on its version, and on which side noticed first."""
    one, other = seen["says"], recorded["says"]
    return one == other if one is None or other is None else bool(_ours(one) == _ours(other))


def _ours(text: str) -> str:
    head, found, _ = text.partition("<port>")
    return head + found


def page(places: list[Any]) -> str:
    """The page, for these places."""
    found, parts = kept(), [HEAD]
    for place in sorted(places, key=lambda each: str(each.name)):
        parts.append(f"\n## {place.name}\n\nWaits: {place.waiting}.\n\n")
        parts.append("| fault | what is said | within |\n|---|---|---|\n")
        for fault in Fault:
            what = _what(place, fault)
            if fault in place.reasons:
                parts.append(f"| {what} | ({place.reasons[fault]}) | |\n")
                continue
            seen = found.get(place.name, {}).get(fault.name)
            if seen is None:
                parts.append(f"| {what} | not tried | |\n")
            elif seen["says"] is None:
                parts.append(f"| {what} | the job goes on, nothing is lost | {seen['within']} s |\n")
            else:
                said = seen["says"].replace("|", "\\|").replace("`", "'")
                parts.append(f"| {what} | `{said}` | {seen['within']} s |\n")
    return "".join(parts)


def _what(place: Any, fault: Fault) -> str:
    written, otherwise = ("it is written", "it is looked up") if place.writes else ("it is read", "it is written")
    if fault is Fault.OUTAGE:
        return f"{fault.value} while {'it is looked up' if place.looks_up else written}"
    return f"the same while {otherwise}" if fault is Fault.OTHER_WAY else fault.value
