"""The files of a new project: those of the folder ``template``, with the project's name in them."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import Path

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_FILES = {
    "job.py.txt": "job.py",
    "test_job.py.txt": "test_job.py",
    "config.yaml.txt": "conf/config.yaml",
    "Makefile.txt": "Makefile",
    "requirements.txt": "requirements.txt",
    "README.md.txt": "README.md",
    "gitignore.txt": ".gitignore",
}
"""where each file of the template goes"""


class ProjectError(ValueError):
    """A project that can't be made: a name that is none, or a folder that has something in it."""


def write_project(folder: Path) -> list[Path]:
    """Write the files of a project; its name is the folder's.

    :return: what was written, relative to the folder.
    :raises ProjectError: the name can't be one, or the folder is not empty.
    """
    name = folder.name
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ProjectError(
            f"a name has letters, digits, - and _ and begins with a letter, as in `millrace new clicks`: "
            f"{name or str(folder)!r} can't be one"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError(f"{folder} is there already and is not empty")
    for source, target in _FILES.items():
        text = resources.files(__package__).joinpath("template").joinpath(source).read_text(encoding="utf-8")
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{{name}}", name), encoding="utf-8")
    return list(map(Path, _FILES.values()))
