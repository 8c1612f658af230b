"""Conditions of patterns in JSON: SQL text, combinations, and names of conditions that the program has given.

What a text names is looked up among those, never imported and never evaluated as Python. Texts in the small language of
Aviator, which patterns of other systems are written in, become SQL: comparisons, ``&&``, ``||``, ``!``, arithmetic,
brackets, numbers, texts, ``true``, ``false`` and ``nil``. All else is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millrace.cep.pattern_parts import UnboundCondition, as_condition
from millrace.runtime.cep.description import (
    AndCondition,
    FunctionCondition,
    IterativeCondition,
    IterativeFunctionCondition,
    MalformedPatternException,
    NotCondition,
    OrCondition,
    SubtypeCondition,
)

# Aviator

_TOKENS = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?)(?![\w.])
      | (?P<text>'[^'\\]*'|"[^"\\]*")
      | (?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
      | (?P<sign>=~|==|!=|<=|>=|&&|\|\||[-+*/%<>!()])
    )""",
    re.VERBOSE,
)
_SIGNS = {"==": "=", "!=": "<>", "&&": "AND", "||": "OR", "!": "NOT"}
_WORDS = {"true": "TRUE", "false": "FALSE"}
_IS = {"==": "IS NULL", "!=": "IS NOT NULL"}


def as_sql(expression: str) -> str:
    """A condition in Aviator's language as SQL text.

    :raises ValueError: something that this translation does not know.
    """
    found: list[str] = []
    tokens = _tokens(expression)
    for place, (kind, token) in enumerate(tokens):
        before = tokens[place - 1][1] if place else ""
        if token == "nil":
            if before not in _IS:
                raise _unknown("nil without == or != before it", expression)
            found[-1] = _IS[before]
        elif kind == "name":
            if tokens[place + 1 : place + 2] == [("sign", "(")]:
                raise _unknown(f"the function {token}", expression)
            found.append(_WORDS.get(token) or ".".join(f"`{part}`" for part in token.split(".")))
        elif kind == "text":
            found.append("'" + token[1:-1].replace("'", "''") + "'")
        elif token == "=~":
            raise _unknown("=~", expression)
        else:
            found.append(_SIGNS.get(token, token))
    return " ".join(found)


def _tokens(expression: str) -> list[tuple[str, str]]:
    found, place, end = [], 0, len(expression.rstrip())
    while place < end:
        token = _TOKENS.match(expression, place)
        if token is None:
            raise _unknown(expression[place:end].split()[0], expression)
        assert token.lastgroup is not None
        found.append((token.lastgroup, token[token.lastgroup]))
        place = token.end()
    return found


def _unknown(what: str, expression: str) -> ValueError:
    return ValueError(
        f"{what} in the AVIATOR expression {expression!r} is not known here: write the condition as SQL text "
        f'({{"type": "SQL", "expression": ...}}) or as a named condition ("CLASS")'
    )


# JSON

Json = dict[str, Any]
Named = Mapping[str, Any]
"""name -> an argument of ``where``, or a class of conditions; for ``SubtypeCondition`` a class of events"""

_FLINK = "org.apache.flink.cep.pattern.conditions."
_COMBINED: dict[str, type[AndCondition | OrCondition | NotCondition]] = {
    "RichAndCondition": AndCondition,
    "RichOrCondition": OrCondition,
    "RichNotCondition": NotCondition,
}
_SUBTYPE = f"{_FLINK}SubtypeCondition"
_TYPES = ("SQL", "AVIATOR", "CLASS")


class Reader:
    """Parses the conditions of one pattern, with the named conditions of the program."""

    def __init__(self, named: Named) -> None:
        self._named = named

    def condition(self, given: Any, where: str) -> IterativeCondition:
        """:raises MalformedPatternException: it is none, or has a name that the program has not given."""
        kind = fields(given, where, ("type", "expression", "className", "args", "nestedConditions", "subClassName"))
        match kind.get("type"):
            case "SQL":
                return as_condition(_text(kind, "expression", where), where)
            case "AVIATOR":
                try:
                    return as_condition(as_sql(_text(kind, "expression", where)), where)
                except ValueError as error:
                    raise MalformedPatternException(f"{where}: {error}") from None
            case "CLASS":
                return self._of_class(kind, where)
            case other:
                raise MalformedPatternException(
                    f"{where}: there is no condition of the type {other!r}; those known are {', '.join(_TYPES)}"
                )

    def _of_class(self, given: Json, where: str) -> IterativeCondition:
        name = _text(given, "className", where)
        if name == _SUBTYPE:
            subtype = self._named_as(_text(given, "subClassName", where), where)
            if not isinstance(subtype, type):
                raise MalformedPatternException(f"{where}: {given['subClassName']} is no class here: {subtype!r}")
            return SubtypeCondition(subtype)
        combined = _COMBINED.get(name.removeprefix(_FLINK))
        if combined is not None and name not in self._named:
            return self._combined(combined, given, where)
        found, args = self._named_as(name, where), given.get("args") or []
        if isinstance(found, type) and issubclass(found, IterativeCondition):
            try:
                return found(*args)
            except Exception as error:
                raise MalformedPatternException(
                    f"{where}: the condition {name} can't be made with the arguments {args!r}: {error}"
                ) from error
        if args:
            raise MalformedPatternException(f"{where}: the condition {name} takes no arguments: it is {found!r}")
        return as_condition(found, where)

    def _combined(self, kind: Any, given: Json, where: str) -> IterativeCondition:
        nested = given.get("nestedConditions")
        wanted = 1 if kind is NotCondition else 2
        if not isinstance(nested, list) or len(nested) != wanted:
            raise MalformedPatternException(f"{where}: {given['className']} takes {wanted} nestedConditions")
        condition: IterativeCondition = kind(*(self.condition(each, where) for each in nested))
        return condition

    def _named_as(self, name: str, where: str) -> Any:
        if name not in self._named:
            known = ", ".join(sorted(self._named)) or "none"
            raise MalformedPatternException(
                f"{where}: the program has given no condition with the name {name!r}; those it has given: {known}"
            )
        return self._named[name]


class Writer:
    """Writes the conditions of one pattern; functions and objects are written as the program's names for them."""

    def __init__(self, named: Named) -> None:
        self._names = {id(_inner(each)): name for name, each in named.items()}

    def condition(self, condition: IterativeCondition, where: str) -> Json:
        """:raises MalformedPatternException: a function or an object without a name."""
        for name, kind in _COMBINED.items():
            if isinstance(condition, kind):
                parts = [getattr(condition, each) for each in ("left", "right", "negated") if hasattr(condition, each)]
                return _class(_FLINK + name, nestedConditions=[self.condition(each, where) for each in parts])
        if isinstance(condition, UnboundCondition):
            return {"type": "SQL", "expression": _sql(condition.given, where)}
        if isinstance(condition, SubtypeCondition):
            return _class(_SUBTYPE, subClassName=self._name(condition.subtype, where))
        if id(condition) not in self._names and id(type(condition)) in self._names:
            args = getattr(condition, "args", None)
            return _class(self._names[id(type(condition))], **({} if args is None else {"args": list(args)}))
        return _class(self._name(_inner(condition), where))

    def _name(self, thing: Any, where: str) -> str:
        if id(thing) not in self._names:
            raise MalformedPatternException(
                f"{where}: {thing!r} can't be written as data; give it a name: to_json(conditions={{'a-name': ...}})"
            )
        return self._names[id(thing)]


def fields(given: Any, where: str, known: tuple[str, ...]) -> Json:
    """A JSON object without unknown fields.

    :raises MalformedPatternException: it is none, or has other fields.
    """
    if not isinstance(given, dict):
        raise MalformedPatternException(f"{where}: an object is needed, not {given!r}")
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise MalformedPatternException(f"{where}: unknown fields {', '.join(unknown)}; known are {', '.join(known)}")
    return given


def _class(name: str, **more: Any) -> Json:
    return {"type": "CLASS", "className": name, **more}


def _inner(condition: Any) -> Any:
    """The function that a condition wraps, by which the program's name for it is found; other conditions unchanged."""
    if isinstance(condition, (FunctionCondition, IterativeFunctionCondition)):
        return condition.function
    return condition


def _text(given: Json, name: str, where: str) -> str:
    found = given.get(name)
    if not isinstance(found, str) or not found.strip():
        raise MalformedPatternException(f"{where}: the condition needs a text as {name!r}, not {found!r}")
    return found


def _sql(given: Any, where: str) -> str:
    if isinstance(given, str):
        return given
    from millrace.cep.expressions import sql_of  # only expressions need the Table API

    try:
        return sql_of(given)
    except ValueError as error:
        raise MalformedPatternException(f"{where}: {error}; give SQL text instead") from error
