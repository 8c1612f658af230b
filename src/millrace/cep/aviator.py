"""Conditions in the small language of Aviator, which patterns of other systems are written in, as SQL text.

Comparisons, ``&&``, ``||``, ``!``, arithmetic, brackets, numbers, texts, ``true``, ``false`` and ``nil``: what means
the same in SQL. All else is refused by its name.
"""

from __future__ import annotations

import re

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
    """The same condition as SQL text.

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
