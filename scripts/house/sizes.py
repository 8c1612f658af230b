"""Sizes: a file is what one sits down to change, neither a page nor a book, and a module has more than one importer.

Doors do not count: they hold no code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import median

from scripts.house.circles import in_circles, module_imports, package_imports
from scripts.house.strictness import AROUND, invariants, uses_of_any
from scripts.house.tree import Module

MAX_LINES = 900
MAY_BE_LONGER = {"millrace.datastream.data_stream", "millrace.table.table", "millrace.relational.types"}
"""front doors of the API: one class each, most of whose lines are docstrings"""


def too_long(modules: Mapping[str, Module]) -> Iterator[str]:
    """One line per file that is too long."""
    for module in modules.values():
        if module.lines > MAX_LINES and module.name not in MAY_BE_LONGER and not module.is_generated:
            yield f"{module.name} has {module.lines} lines (limit {MAX_LINES}): divide it by subject"


def with_one_importer(modules: Mapping[str, Module]) -> list[str]:
    """Modules with code that a single other module imports, doors aside."""
    importers: Counter[str] = Counter()
    for name, targets in module_imports(modules, in_functions=True).items():
        if not modules[name].is_door:
            importers.update(list(targets))
    return sorted(name for name, count in importers.items() if count == 1 and not modules[name].is_door)


def figures(modules: Mapping[str, Module]) -> dict[str, float]:
    """What ``--figures`` prints."""
    counted = [module for module in modules.values() if not module.is_door]
    packages = package_imports(modules, in_functions=True)
    return {
        "files without generated doors": sum(not module.is_generated for module in modules.values()),
        "generated doors": sum(module.is_generated for module in modules.values()),
        "files with code (without doors)": len(counted),
        "lines without generated doors": sum(each.lines for each in modules.values() if not each.is_generated),
        "median of lines, without doors": median(module.lines for module in counted),
        "modules with one importer": len(with_one_importer(modules)),
        "packages in circles, imports in functions counted": len(in_circles(packages)),
        "modules in circles, imports in functions counted": len(in_circles(module_imports(modules, in_functions=True))),
        "modules in circles": len(in_circles(module_imports(modules, in_functions=False))),
        "uses of Any in annotations of checkpoint and runtime": uses_of_any(modules),
        "uses of Any in annotations of cluster, connectors, spark and table": uses_of_any(modules, AROUND),
        "invariants of checkpoint and runtime": invariants(modules),
    }
