"""The recipes of CONTRIBUTING.md: their patches, programs and what these print."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.util.other_packages import write_metadata

try:
    import tomllib
except ImportError:
    import tomli as tomllib  # type: ignore[import-not-found, no-redef]

ROOT = Path(__file__).parents[2]
_FENCED = r"```{}\n(.*?)```"


@dataclass(frozen=True)
class Recipe:
    """One section: ``### title: N files``."""

    title: str
    promised: int
    patch: str
    program: str
    prints: str

    @property
    def files(self) -> list[str]:
        """The files of the source that the patch touches. An entry point is a line of pyproject.toml beside them."""
        return [path for path, _, _ in _parts(self.patch) if path.startswith("src/")]


def recipes() -> list[Recipe]:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    sections = re.findall(r"^### ([^\n]+): (\d+) files?\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    return [
        Recipe(title, int(count), _block("diff", body), _block("python", body), _block("text", body))
        for title, count, body in sections
    ]


def _block(kind: str, body: str) -> str:
    (found,) = re.findall(_FENCED.format(kind), body, re.DOTALL)
    return str(found)


def _parts(patch: str) -> list[tuple[str, bool, list[str]]]:
    """(file, whether it is new, its hunks) for every file of a patch."""
    found = []
    for part in re.split(r"^--- ", patch, flags=re.MULTILINE)[1:]:
        head, *hunks = re.split(r"^@@\n", part, flags=re.MULTILINE)
        old, new = head.splitlines()
        found.append((new.removeprefix("+++ b/"), old == "/dev/null", hunks))
    return found


def scratch_copy(folder: Path) -> Path:
    """The source and the project, to be changed."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def install(folder: Path) -> None:
    """Make the entry points of a copy those of the package that is imported from it."""
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    write_metadata(folder / "src", project["name"], project["entry-points"])


def apply(recipe: Recipe, folder: Path) -> None:
    """Apply a patch. Hunks are found by what they contain, which must be there once."""
    for path, new, hunks in _parts(recipe.patch):
        file = folder / path
        if new:
            assert not file.exists(), f"{path} is there already"
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(line[1:] + "\n" for line in hunks[0].splitlines()), "utf-8")
            continue
        text = file.read_text("utf-8")
        for hunk in hunks:
            before, after = _side(hunk, "-"), _side(hunk, "+")
            assert text.count(before) == 1, f"{path} has this {text.count(before)} times:\n{before}"
            text = text.replace(before, after)
        file.write_text(text, "utf-8")


def _side(hunk: str, sign: str) -> str:
    return "".join(line[1:] + "\n" for line in hunk.splitlines() if line[:1] in (sign, " ") or not line)
