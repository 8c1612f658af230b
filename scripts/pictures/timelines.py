"""Time lines of the tutorials' programs, taken from their pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import timeline

PAGES = Path(__file__).parents[2] / "docs" / "tutorials"
_FILE = re.compile(r"<!-- file: ([a-z_]+)\.py -->\n(?:<!-- run: [^\n]* -->\n)?```python\n(.*?)```", re.DOTALL)


def greenhouse() -> str:
    """The windows of the tutorial on event time."""
    return _of_page("event-time.md", "greenhouse")


def reminder() -> str:
    """The timers of the tutorial on state."""
    return _of_page("state.md", "reminder")


def _of_page(page: str, program: str) -> str:
    """The time line of ``build(env)`` of a file that stands on a page."""
    files = dict(_FILE.findall((PAGES / page).read_text("utf-8")))
    before = {name: sys.modules.pop(name) for name in files if name in sys.modules}
    try:
        for name, text in files.items():
            module = sys.modules[name] = ModuleType(name)
            exec(compile(text, f"{page}: {name}.py", "exec"), module.__dict__)
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        return timeline(sys.modules[program].build(env)).to_svg(alone=True)
    finally:
        for name in files:
            sys.modules.pop(name, None)
        sys.modules.update(before)
