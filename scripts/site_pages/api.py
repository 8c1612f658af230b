"""Pages of the API: every public name, by the module that it is of, from its docstring."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from functools import cache

from scripts.site_pages import public

EXAMPLES = """\
In the examples all public names are imported. `env` is a `StreamExecutionEnvironment` with parallelism 1, `t_env` a
`StreamTableEnvironment` over it, with the tables `orders` (`name`, `product`, `amount`; three rows) and `clicks` (`n`,
and the event time `at`; four rows, 20 minutes apart). They run as tests.
"""


@cache
def pages() -> dict[str, dict[str, str]]:
    """Title of a package -> page -> its text."""
    return {title: _pages(package) for package, title in public.PACKAGES.items()}


def _pages(package: str) -> dict[str, str]:
    homes: dict[str, set[str]] = defaultdict(set)
    for each in public.names():
        if public.package_of(each) == package:
            homes[each.home].add(getattr(each.found, "__qualname__", each.name))
    found = {}
    for home, names in sorted(homes.items()):
        text = _page(home, sorted(names))
        found[f"api/{package}/{home.removeprefix('millrace.')}.md"] = text
    return found


def _page(home: str, names: list[str]) -> str:
    first = (inspect.getdoc(importlib.import_module(home)) or "").split("\n\n")[0]
    sections = [f"::: {home}.{name}" for name in names if "." not in name]
    about = f'??? note "The examples"\n\n{_indented(EXAMPLES)}'
    return "\n\n".join([f"# {', '.join(names)}", first, about, *sections, ""])


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
