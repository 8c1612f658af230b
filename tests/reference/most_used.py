"""The methods that programs use most, in ``most_used.txt``: kept, so that a page more does not ask for examples.

python -m tests.reference.most_used       counts anew
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from scripts.site_pages import public

LIST = Path(__file__).with_suffix(".txt")
NUMBER = 300
_ROOT = Path(__file__).parents[2]
_PLACES = (
    *("examples", "docs/guide", "docs/tutorials", "docs/migration"),
    *("tests/dropin/cases", "tests/table/pyflink_programs"),
)
_USE = re.compile(r"\.([a-zA-Z_]\w*)\b")


def most_used() -> list[str]:
    """Names of public methods, by how often examples, guides and tests of programs have them behind a dot."""
    files = [path for place in _PLACES for path in (_ROOT / place).rglob("*") if path.suffix in (".py", ".md")]
    uses = Counter(used for path in files for used in _USE.findall(path.read_text("utf-8")))
    methods = {method for name in public.names() for method in name.methods}
    return sorted(methods, key=lambda method: (-uses[method], method))[:NUMBER]


if __name__ == "__main__":
    LIST.write_text("".join(f"{method}\n" for method in most_used()), "utf-8")
