"""Option names as Flink's command takes them: also long ones behind one dash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from millrace.util.similar import close_to


def spelled(word: str, options: Iterable[click.Option]) -> str:
    """A word of a command line, with the two dashes that a long name has.

    :raises click.NoSuchOption: letters that stand behind a short option as its value, and look like a long name:
        ``-savepoint`` would be ``-s avepoint``.
    """
    if not word.startswith("-") or word.startswith("--"):
        return word
    by_name = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
    head = word.partition("=")[0]
    if head in by_name or len(head) <= 2:
        return word
    if f"-{head}" in by_name:
        return f"-{word}"
    short = by_name.get(word[:2])
    if short is not None and not short.is_flag and head[1:].isalpha():
        meant = _meant(head[1:], short)
        if meant is not None:
            raise click.NoSuchOption(head, possibilities=[meant])
    return word


def all_spelled(words: Iterable[str], options: list[click.Option]) -> Iterator[str]:
    """All words up to ``--``, and what follows it."""
    ended = False
    for word in words:
        ended = ended or word == "--"
        yield word if ended else spelled(word, options)


def _meant(name: str, option: click.Option) -> str | None:
    """The long name of an option that a word comes near to."""
    long = [each for each in option.opts if each.startswith("--")]
    inside = [each for each in long if name.casefold() in each.casefold()]
    close = close_to(name, [each[2:] for each in long])
    return inside[0] if inside else close and f"--{close}"
