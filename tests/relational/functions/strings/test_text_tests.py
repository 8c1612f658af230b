"""IS_ALPHA, IS_DECIMAL, IS_DIGIT."""

from __future__ import annotations

from tests.corpus import corpus
from tests.relational.functions.examples import JAVA, SOURCE, Example, null

from millrace.relational import types as t

CASES = {
    "IS_ALPHA": {"abc": True, "é": True, "ab1": False, "": False, " ": False},
    "IS_DIGIT": {"123": True, "٣": True, "1.5": False, "-1": False, "": False},
    "IS_DECIMAL": {"123": True, "-1.5": True, "1e3": True, " 1 ": True, "NaN": True, "1f": True, "x": False, "": False},
}
EXAMPLES = [
    *(
        Example(name, [text], wanted, SOURCE, strict=False)
        for name, cases in CASES.items()
        for text, wanted in cases.items()
    ),
    *(Example(name, [null(t.string())], False, SOURCE, strict=False) for name in CASES),
    Example("IS_ALPHA", [5], False, SOURCE, strict=False),
    Example("IS_DIGIT", [5], True, SOURCE, strict=False),
    Example("IS_DIGIT", [1.5], False, SOURCE, strict=False),
    Example("IS_DECIMAL", [1.5], True, JAVA, strict=False),
]


@corpus("example", EXAMPLES, 25)
def test_example(example: Example) -> None:
    example.check()
