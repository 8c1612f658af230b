"""Pages for contributors name files, folders and modules that exist.

What stands in backticks on these pages and looks like a path, a module or a name of the source must be there. A short
path counts from the root of the checkout, from ``src/millrace``, or from a folder that the same section names before it
(also as the folder of a file).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.house.tree import PACKAGE, Module

ROOT = Path(__file__).parents[2]
PAGES = ("docs/architecture.md", "DEVELOPERS.md", "CONTRIBUTING.md")
OTHERS_FILES = {"config.yaml", "flink-conf.yaml", "site/", ".venv", ".spark-versions/"}
"""files of users, and what commands make"""
OTHERS_WORDS = {"_metadata", "pickle.loads"}
"""words of other programs and libraries, beside those that the source has"""

_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_TICKED = re.compile(r"`([^`\n]+)`")
_DRAWN = re.compile(r"[\w./-]+(?:\.py\b|/(?=\s|\Z))")
"""in a picture, which is indented: files, which must be there, and folders, which may be of users"""
_PATH = re.compile(r"\.?[\w-][\w.-]*(?:/[\w.-]+)*/?")
_FILE = re.compile(r"\.(?:py|md|tsv|txt|toml|jsonl|json|sh|yml|yaml|js|css|log)\Z")
_MODULE = re.compile(r"(?:millrace|tests|scripts|benchmarks)(?:\.\w+)+")
_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")


def broken_names(modules: Mapping[str, Module], root: Path = ROOT) -> Iterator[str]:
    """One line per name on one of ``PAGES`` that leads nowhere."""
    words = _words_of(root, modules)
    for page in PAGES:
        text = (root / page).read_text("utf-8")
        for line, name in missing(text, root, words):
            yield f"{page}:{line} names `{name}`, which is not there"


def missing(text: str, root: Path, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, name) for each name of a page that is neither a file, a folder, a module nor a word of the source."""
    plain = _FENCED.sub(lambda found: "\n" * found[0].count("\n"), text)
    folders: list[Path] = []
    for number, line in enumerate(plain.splitlines(), 1):
        if line.startswith("#"):
            folders = []
        drawn = line.startswith("    ") and not line.lstrip().startswith(("-", "make "))
        for name in _DRAWN.findall(line) if drawn else _TICKED.findall(line):
            if not _is_there(name, root, folders, words) and not (drawn and name.endswith("/")):
                yield number, name


def _is_there(name: str, root: Path, folders: list[Path], words: frozenset[str]) -> bool:
    if _PATH.fullmatch(name) and ("/" in name or _FILE.search(name)):
        if name in OTHERS_FILES:
            return True
        starts = (root, root / "src", root / "src" / PACKAGE, *folders)
        found = next((start / name for start in starts if (start / name).exists()), None)
        if found is not None:
            folders.insert(0, found if found.is_dir() else found.parent)
        return found is not None
    if _MODULE.fullmatch(name):
        return name in words or _is_module(name, root)
    if _WORD.fullmatch(name):
        return name in OTHERS_WORDS or all(part in words for part in name.removesuffix("()").split("."))
    return True


def _is_module(name: str, root: Path) -> bool:
    """Is it a module, or one with a name that its text has?"""
    parts = name.split(".")
    base = root / "src" if parts[0] == PACKAGE else root
    for length in range(len(parts), 0, -1):
        path = base.joinpath(*parts[:length])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path.is_dir() or file.is_file():
            rest = parts[length:]
            return not rest or (
                file.is_file() and all(re.search(rf"\b{each}\b", file.read_text("utf-8")) for each in rest)
            )
    return False


def _words_of(root: Path, modules: Mapping[str, Module]) -> frozenset[str]:
    """The words of the source, and all its texts that look like names with dots."""
    texts = [module.text for module in modules.values()]
    texts += [file.read_text("utf-8") for each in ("scripts", "tests") for file in (root / each).rglob("*.py")]
    texts += [(root / each).read_text("utf-8") for each in ("Makefile", "pyproject.toml") if (root / each).exists()]
    found: set[str] = set()
    for text in texts:
        found.update(re.findall(r"[A-Za-z_]\w*", text))
        found.update(re.findall(r"\"([\w.-]+)\"", text))
    found.update(module.name.rpartition(".")[2] for module in modules.values())
    return frozenset(found)
