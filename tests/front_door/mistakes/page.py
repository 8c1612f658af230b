"""The page of all messages (docs/error-index.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.front_door.mistakes.all_mistakes import MISTAKES, TOPICS
from tests.front_door.mistakes.mistake import HERE, Mistake, Way
from tests.front_door.mistakes.running import IMPORTS

PAGE = Path(__file__).parents[3] / "docs" / "error-index.md"

_INTRODUCTION = """\
# Error index

{count} mistakes that are easily made, what Millrace says to each, why, and what to do. Look for a part of your message
on this page, without the names that are yours. Each of these messages is a test; the page is written by `make errors`.

- A message has the name of the thing, your file and line, and what was probably meant. `--verbose` of `millrace run`
  shows the whole traceback, `SET 'sql-client.verbose' = 'true'` that of the SQL client.
- `details: /path/to.log` names the log of Spark's JVM, where there is more of a failure.
- Warnings come once. What has no effect here is told in one line at the start; [Configuration](configuration.md) says
  why.
- Messages of connectors when servers fail are in [connector faults](connector-faults.md).
- `millrace doctor` looks for what is wrong with the installation and the machine.

The programs of this page stand behind these lines; line numbers count from what is shown:

<!-- run: no, imports of the programs below -->
```python
{imports}
```
"""


def page(message_of: Callable[[Mistake], str]) -> str:
    """The whole page; ``message_of`` gives what was said to a mistake."""
    return "\n".join(_page(message_of)) + "\n"


def section(mistake: Mistake, message: str) -> str:
    """What the page has about one mistake."""
    return "\n".join(_section(mistake, message))


def _page(message_of: Callable[[Mistake], str]) -> Iterator[str]:
    yield _INTRODUCTION.format(count=len(MISTAKES), imports=IMPORTS.replace("; ", "\n"))
    for topic in TOPICS:
        yield f"## {topic.TITLE}\n"
        if hasattr(topic, "INTRODUCTION"):
            yield topic.INTRODUCTION
        for mistake in topic.MISTAKES:
            yield section(mistake, message_of(mistake))


def _section(mistake: Mistake, message: str) -> Iterator[str]:
    yield f"### {mistake.title}\n"
    if mistake.way is Way.PROGRAM:
        if mistake.options:
            options = " ".join(mistake.options).replace("{root}/", "")
            yield f"With `millrace run {options} job.py`:\n"
        yield "<!-- run: no, it is wrong, and tests/front_door/mistakes runs it -->"
    yield from (f"```{mistake.way.value}", mistake.text.replace(f"  {HERE}", "").rstrip(), "```\n")
    for name, text in mistake.files.items():
        if mistake.way is Way.SQL and name != "tables.sql":
            yield from (f"`{name}`:\n", "```text", text.rstrip(), "```\n")
    yield from ("says\n", "```text", message.rstrip(), "```\n")
    yield f"- **Cause**: {mistake.cause}"
    yield f"- **Cure**: {mistake.cure}\n"
