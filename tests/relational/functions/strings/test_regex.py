"""Functions with regular expressions, and Java's syntax of these."""

from __future__ import annotations

import sys

import pytest
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, SOURCE, Example, null, of

from millrace.relational import types as t
from millrace.relational.functions.regex import compiled

NO_TEXT = null(t.string())

EXAMPLES = [
    Example("REGEXP", ["hello", "l+"], True, DOCS),
    Example("REGEXP", ["hello", "^l"], False, DOCS),
    Example("REGEXP", ["hello", ""], False, SOURCE),
    Example("REGEXP", ["hello", "("], False, SOURCE),
    Example("REGEXP", ["hello", NO_TEXT], None, DOCS),
    Example("REGEXP_REPLACE", ["foobar", "oo|ar", ""], "fb", DOCS),
    Example("REGEXP_REPLACE", ["foobar", "o", "$1\\"], "f$1\\$1\\bar", SOURCE),
    Example("REGEXP_REPLACE", ["foobar", "(", ""], None, SOURCE),
    Example("REGEXP_REPLACE", ["abc", "", "-"], "-a-b-c-", JAVA),
    Example("REGEXP_EXTRACT", ["foothebar", "foo(.*?)(bar)", 2], "bar", DOCS),
    Example("REGEXP_EXTRACT", ["foothebar", "foo(.*?)(bar)"], "foothebar", DOCS),
    Example("REGEXP_EXTRACT", ["foothebar", "foo(.*?)(bar)", 3], None, SOURCE),
    Example("REGEXP_EXTRACT", ["x", "y"], None, SOURCE),
    Example("REGEXP_EXTRACT", ["ac", "a(b)?c", 1], None, JAVA),
    Example("REGEXP_EXTRACT_ALL", ["1a 2b 14m", "(\\d+)([a-z]+)"], ["1", "2", "14"], DOCS),
    Example("REGEXP_EXTRACT_ALL", ["1a 2b 14m", "(\\d+)([a-z]+)", 2], ["a", "b", "m"], DOCS),
    Example("REGEXP_EXTRACT_ALL", ["1a 2b", "\\d[a-z]", 0], ["1a", "2b"], DOCS),
    Example("REGEXP_EXTRACT_ALL", ["1a", "(\\d)", 2], None, DOCS),
    Example("REGEXP_EXTRACT_ALL", ["1a", "(", 0], None, DOCS),
    Example("REGEXP_COUNT", ["abcabc", "b"], 2, DOCS),
    Example("REGEXP_COUNT", ["abc", "x"], 0, DOCS),
    Example("REGEXP_COUNT", ["abc", "("], None, DOCS),
    Example("REGEXP_INSTR", ["hello world", "w.r"], 7, DOCS),
    Example("REGEXP_INSTR", ["hello", "x"], 0, DOCS),
    Example("REGEXP_INSTR", ["hello", "["], None, DOCS),
    Example("REGEXP_SUBSTR", ["hello world", "w.r"], "wor", DOCS),
    Example("REGEXP_SUBSTR", ["hello", "x"], None, DOCS),
    Example("REGEXP_SUBSTR", ["hello", "*"], None, DOCS),
    Example("STR_TO_MAP", ["k1=v1,k2=v2"], {"k1": "v1", "k2": "v2"}, DOCS),
    Example("STR_TO_MAP", ["k1:v1;k2:v2:x", ";", ":"], {"k1": "v1", "k2": "v2:x"}, DOCS),
    Example("STR_TO_MAP", ["k1$$v1|k2", "\\|", "\\$\\$"], {"k1": "v1", "k2": None}, DOCS),
    Example("STR_TO_MAP", [""], of(t.MapType(t.string(), t.string()), {}), SOURCE),
    Example("STR_TO_MAP", ["a=1,,"], {"a": "1"}, JAVA),
    Example("STR_TO_MAP", ["a", "("], source=JAVA, raises="'(' is not a regular expression"),
]


@corpus("example", EXAMPLES, 34)
def test_example(example: Example) -> None:
    example.check()


FOUND = [
    (r"(?<year>\d{4})-\k<year>", "2020-2020", "2020-2020"),
    (r"\Qa.b\E+", "xa.bbb", "a.bbb"),
    (r"\d", "٣4", "4"),
    (r"\p{Alpha}+", "1abC2", "abC"),
    (r"[\p{Upper}\d]+", "aB3c", "B3"),
    (r"\P{Digit}+", "12ab", "ab"),
    (r"\p{L}+", "1é2", "é"),
    (r"a(?i)b(?:c)", "aBC", "aBC"),
    (r"(a(?i)b)c", "aBC aBc", "aBc"),
    (r"ab\z", "ab", "ab"),
    (r"a\Z", "a\n", "a"),
    (r"[]a]+", "]a]", "]a]"),
    (r"[&~|]+", "a&|", "&|"),
]


@pytest.mark.parametrize("case", FOUND, ids=str)
def test_java_s_syntax(case: tuple[str, str, str]) -> None:
    pattern, text, wanted = case
    regex = compiled(pattern)
    assert regex is not None
    match = regex.search(text)
    assert match is not None and match[0] == wanted


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="newer Pythons have them")
@pytest.mark.parametrize("pattern", ["a++b", "(?>a)b"])
def test_old_pythons_refuse_possessive_quantifiers(pattern: str) -> None:
    with pytest.raises(ValueError, match="possessive"):
        compiled(pattern)


@pytest.mark.parametrize("pattern", ["[a-z&&[^b]]", "[a[bc]]", r"\p{IsGreek}", r"\G"])
def test_what_python_lacks_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match="does not support"):
        compiled(pattern)
