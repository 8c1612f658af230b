"""How commits are written: a subject of 72 characters at most, and a body that says why.

The commits since the one that ``pyproject.toml`` names (``[tool.millrace.house] commits-since``) are looked at, merges
left out. A shallow clone may end before that one: then those that are there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
MAX_SUBJECT = 72
_TRAILER = re.compile(r"[A-Z][A-Za-z-]*-[A-Za-z-]+: \S.*")
"""``Co-authored-by: ...`` and the like, which are no reason"""


def badly_written(root: Path = ROOT) -> Iterator[str]:
    """One line per commit that breaks a rule; nothing where there is no repository, as in an archive of the source."""
    if not (root / ".git").exists():
        return
    since = _since(root)
    if _has(root, since):
        commits = ["HEAD", f"^{since}"]
    elif git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
        commits = ["HEAD"]
    else:
        yield f"pyproject.toml: commits-since = {since!r} names no commit of this repository"
        return
    log = git(root, "log", "--no-merges", "--reverse", "--format=%h%x00%s%x00%b%x01", *commits)
    for entry in filter(None, (each.strip("\n") for each in log.split("\x01"))):
        commit, subject, body = entry.split("\x00")
        for problem in problems_of(subject, body):
            yield f"commit {commit}, {subject[:50]!r}: {problem}"


def problems_of(subject: str, body: str) -> Iterator[str]:
    """What is wrong with a message."""
    if len(subject) > MAX_SUBJECT:
        yield f"the subject has {len(subject)} characters (limit {MAX_SUBJECT}; an empty line ends it)"
    if all(_TRAILER.fullmatch(line) for line in body.splitlines() if line.strip()):
        yield "it has no body: say why"


def _since(root: Path) -> str:
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    since: str = settings["tool"]["millrace"]["house"]["commits-since"]
    return since


def _has(root: Path, commit: str) -> bool:
    command = ["git", "-C", str(root), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def git(root: Path, *arguments: str) -> str:
    """What a command of git prints."""
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout
