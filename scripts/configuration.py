#!/usr/bin/env python
"""Writes docs/configuration.md: every configuration key of Flink and of Millrace, and what becomes of it.

python scripts/configuration.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from millrace.configuration.registry import TOPICS, Option, options, short_name
from millrace.configuration.rule import NEWEST, Effect, Topic

TARGET = Path(__file__).parents[1] / "docs" / "configuration.md"
LONGEST_DEFAULT = 60

INTRODUCTION = """\
# Configuration

Every configuration key of Flink {newest}, of older versions as far back as 1.11, and of Millrace: {count} keys. This
page is written by `make configuration`.

## Files, options, programs

`config.yaml` (nested or flat; needs `pip install 'millrace-streaming[config]'`) or `flink-conf.yaml` (`key: value` lines) is read
from the first of these directories:

1. `--config-dir DIR` of the command,
2. `$MILLRACE_CONF_DIR`,
3. `$FLINK_CONF_DIR`,
4. `./conf`. A `config.yaml` there counts only if it has a key that is known: other programs have such files, too.

A directory that was named and has neither file is an error. If both files are there, `config.yaml` counts. Options of
the command (`-D key=value`, and those with a name of their own) count more than the files, what the program sets counts
more than both, for `python program.py` as for `millrace run`. That holds for older names as well: one of the program
beats the new name in a file.

## What becomes of a key

| here | |
|---|---|
| {works} ({n_works}) | as in Flink, or as the note says. Those of the REST server, the dashboard, history, the gateway and metrics are for a cluster of Millrace's own (`millrace.cluster`) |
| {mapped} ({n_mapped}) | becomes these settings of a Spark that Millrace starts; `spark.*` keys that you set yourself count more. A session of your own stays as it is |
| {ignored} ({n_ignored}) | never changes a result. One line at the start lists those that are set to something else than what happens anyway |
| {refused} ({n_refused}) | an error, unless the value is the one that is named: ignoring it would be wrong |

- A value of the wrong type is an error that names the key, the value and what is expected.
- A key that begins like one of Flink's and is none, or is nearly one, gets a warning: `there is no configuration key
  execution.checkpointing.intervall, did you mean 'execution.checkpointing.interval'?`
- Keys of your own, `my-app.threshold`, are left alone; so are all of Spark's.
- Values of keys that hold secrets are shown nowhere.
"""  # noqa: E501


def page() -> str:
    """The whole text."""
    return "\n".join([_introduction(), *(line for topic in TOPICS for line in _topic(topic))]).rstrip() + "\n"


def _introduction() -> str:
    effects = [option.rule.effect for option in options().values()]
    counts = {f"n_{effect.name.lower()}": effects.count(effect) for effect in Effect}
    names = {effect.name.lower(): effect.value for effect in Effect}
    return INTRODUCTION.format(newest=NEWEST, count=len(effects), **counts, **names)


def _topic(topic: Topic) -> Iterator[str]:
    mine = [option for option in options().values() if option.topic == topic.title]
    counting = [option for option in mine if option.rule.effect is not Effect.IGNORED]
    yield from (f"## {topic.title}", "")
    if counting:
        yield from ("| key (older names) | type | default | here | |", "|---|---|---|---|---|")
        yield from map(_row, counting)
        yield ""
    order = list(topic.rules)
    ignored = sorted(
        (option for option in mine if option.rule.effect is Effect.IGNORED), key=lambda each: order.index(each.rule)
    )
    if ignored:
        yield from ("| no effect | why |", "|---|---|")
        for rule, group in groupby(ignored, key=lambda each: each.rule):
            yield f"| {', '.join(map(_names, group))} | {rule.note}{_said_quietly(rule.same)} |"
        yield ""


def _row(option: Option) -> str:
    default = option.fact.default
    shown = f"`{default}`" if default and len(default) <= LONGEST_DEFAULT else ""
    cells = (_names(option), short_name(option.type), shown, _here(option), option.rule.note)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _names(option: Option) -> str:
    version = "" if option.fact.version == NEWEST else f"until {option.fact.version}"
    beside = ", ".join(filter(None, [version, *(f"`{name}`" for name in option.fact.older)]))
    return f"`{option.key}`{f' ({beside})' if beside else ''}"


def _here(option: Option) -> str:
    if option.rule.effect is Effect.MAPPED:
        return ", ".join(f"`{key}`" for key in option.rule.spark)
    if option.rule.effect is Effect.REFUSED:
        same = [value for value in option.rule.same if value]
        return f"refused{f' but for `{same[0]}`' if same else ''}"
    return option.rule.effect.value


def _said_quietly(same: tuple[str, ...]) -> str:
    values = [f"`{value}`" for value in same if value]
    return f" ({' or '.join(values)} is so)" if len(values) == 1 else ""


def main() -> None:
    TARGET.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
