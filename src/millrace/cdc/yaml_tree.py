"""YAML with the line of each part; values stay texts. Errors name the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from millrace.util.names import did_you_mean


class PipelineError(ValueError):
    """A pipeline file is invalid.

    :ivar line: line of the error, counted from 1; None: the file as a whole.
    """

    def __init__(self, message: str, file: str = "", line: int | None = None) -> None:
        place = ", ".join(part for part in (file, f"line {line}" if line is not None else "") if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.line = line

    def __reduce__(self) -> tuple[type[PipelineError], tuple[str]]:
        return PipelineError, (str(self),)


_NULL = "tag:yaml.org,2002:null"
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class Text:
    """A scalar value.

    :ivar value: its text; None for ``null``, ``~`` or an empty value.
    """

    value: str | None
    file: str
    line: int

    def fail(self, message: str) -> NoReturn:
        raise PipelineError(message, self.file, self.line)


@dataclass(frozen=True)
class Items:
    """A list."""

    values: tuple[Part, ...]
    file: str
    line: int

    def fail(self, message: str) -> NoReturn:
        raise PipelineError(message, self.file, self.line)


@dataclass(frozen=True)
class Block:
    """A mapping: keys and their values.

    :ivar where: line of each key.
    """

    title: str
    """name of the block in error messages"""
    values: Mapping[str, Part]
    where: Mapping[str, int]
    file: str
    line: int

    def fail(self, message: str, key: str | None = None) -> NoReturn:
        """Raise a ``PipelineError`` with a line.

        :param key: the wrong key; None: the block itself.
        """
        raise PipelineError(message, self.file, self.where.get(key, self.line) if key else self.line)

    def only(self, known: Iterable[str], prefixes: Iterable[str] = ()) -> None:
        """Allow these keys only.

        :raises PipelineError: the block has other keys.
        """
        names, beginnings = list(known), tuple(prefixes)
        for key in self.values:
            if key not in names and not key.startswith(beginnings or ("\0",)):
                self.fail(f"unknown key '{key}' in {self.title}{did_you_mean(key, names)}", key)

    def text(self, key: str) -> str | None:
        """The text of a key; None if the key is missing or empty."""
        found = self.values.get(key)
        if found is None:
            return None
        if not isinstance(found, Text):
            self.fail(f"'{key}' in {self.title} must be a single value", key)
        return found.value

    def needed(self, key: str) -> str:
        """The text of a required key.

        :raises PipelineError: it is missing or empty.
        """
        found = self.text(key)
        if found is None or not found.strip():
            self.fail(f"{self.title} needs '{key}'", key)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """The items of a list, or of a text separated by commas."""
        found = self.values.get(key)
        if found is None:
            return ()
        if isinstance(found, Text):
            return tuple(part.strip() for part in (found.value or "").split(",") if part.strip())
        if isinstance(found, Items) and all(isinstance(each, Text) for each in found.values):
            return tuple(each.value.strip() for each in found.values if isinstance(each, Text) and each.value)
        return self.fail(f"'{key}' in {self.title} must be a list of names", key)

    def block(self, key: str) -> Block | None:
        found = self.values.get(key)
        if found is None or (isinstance(found, Text) and found.value is None):
            return None
        if not isinstance(found, Block):
            self.fail(f"'{key}' must be a block of keys", key)
        return found

    def blocks(self, key: str) -> Iterator[Block]:
        """A list of blocks."""
        found = self.values.get(key)
        if found is None or (isinstance(found, Text) and found.value is None):
            return
        if not isinstance(found, Items):
            self.fail(f"'{key}' must be a list: every entry begins with '- '", key)
        for each in found.values:
            if not isinstance(each, Block):
                raise PipelineError(f"an entry of '{key}' must be a block of keys", self.file, each.line)
            yield each

    def flat(self, without: Iterable[str] = ()) -> dict[str, str]:
        """All scalar values; those of inner blocks have dotted names."""
        left_out = set(without)
        found: dict[str, str] = {}
        for key, value in self.values.items():
            if key in left_out:
                continue
            if isinstance(value, Block):
                found.update({f"{key}.{name}": text for name, text in value.flat().items()})
            elif isinstance(value, Text):
                if value.value is not None:
                    found[key] = value.value
            else:
                self.fail(f"'{key}' in {self.title} must be a single value", key)
        return found


Part = Text | Items | Block


def read_tree(text: str, file: str) -> Block:
    """The blocks of a pipeline file.

    :raises PipelineError: it is no YAML, not a block of keys, or has a key twice.
    :raises ImportError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError("reading a pipeline needs PyYAML: pip install 'millrace-streaming[config]'") from error
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        node = yaml.compose(text, loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise PipelineError(_said(error), file, None if mark is None else mark.line + 1) from None
    if node is None:
        raise PipelineError("the file is empty: a pipeline has at least 'source' and 'sink'", file)
    found = _part(node, "the pipeline", file)
    if not isinstance(found, Block):
        raise PipelineError("a pipeline is a block of keys: source, sink, ...", file, found.line)
    return found


def _said(error: Any) -> str:
    problem = str(getattr(error, "problem", None) or error)
    hint = ""
    if "alias" in problem or "found character '*'" in problem or "anchor" in problem:
        hint = " (a value that begins with * needs quotes, or a backslash: \\*)"
    return f"this is no YAML: {problem}{hint}"


def _part(node: Any, title: str, file: str) -> Part:
    line = node.start_mark.line + 1
    if node.id == "scalar":
        return Text(None if node.tag == _NULL else node.value, file, line)
    if node.id == "sequence":
        return Items(tuple(_part(each, f"an entry of '{title}'", file) for each in node.value), file, line)
    values: dict[str, Part] = {}
    where: dict[str, int] = {}
    for key, value in node.value:
        at = key.start_mark.line + 1
        if key.id != "scalar" or key.tag == _MERGE:
            raise PipelineError(f"a key of {title} must be a name", file, at)
        if key.value in values:
            raise PipelineError(f"'{key.value}' stands twice in {title}", file, at)
        values[key.value] = _part(value, f"'{key.value}'" if value.id == "mapping" else key.value, file)
        where[key.value] = at
    return Block(title, values, where, file, line)
