"""ASCII, CHR, ENCODE, DECODE, base 64."""

from __future__ import annotations

import base64

from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, PYTHON, SOURCE, Example, null

from millrace.relational import types as t

EXAMPLES = [
    Example("ASCII", ["abc"], 97, DOCS),
    Example("ASCII", [null(t.string())], None, DOCS),
    Example("ASCII", [""], 0, SOURCE),
    Example("CHR", [97], "a", DOCS),
    Example("CHR", [353], "a", DOCS),
    Example("CHR", [-1], "", SOURCE),
    Example("ENCODE", ["aé", "UTF-8"], b"a\xc3\xa9", DOCS),
    Example("ENCODE", ["aé", "US-ASCII"], b"a?", JAVA),
    Example("ENCODE", ["a", "UTF-16"], b"\xfe\xff\x00a", JAVA),
    Example("ENCODE", ["a", "utf-16le"], b"a\x00", DOCS),
    Example("ENCODE", ["a", "EBCDIC"], source=DOCS, raises="there is no character set 'EBCDIC': use one of US-ASCII,"),
    Example("DECODE", [b"a\xc3\xa9", "UTF-8"], "aé", DOCS),
    Example("DECODE", [b"\xe9", "ISO-8859-1"], "é", DOCS),
    Example("DECODE", [b"\x00a", "UTF-16"], "a", JAVA),
    Example("DECODE", [b"\xff\xfea\x00", "UTF-16"], "a", JAVA),
    Example("TO_BASE64", ["hello world"], "aGVsbG8gd29ybGQ=", DOCS),
    Example("TO_BASE64", ["x" * 100], base64.b64encode(b"x" * 100).decode(), PYTHON),
    Example("TO_BASE64", [b"\xff"], "/w==", PYTHON),
    Example("FROM_BASE64", ["aGVsbG8gd29ybGQ="], "hello world", DOCS),
    Example("FROM_BASE64", ["aGVsbG8gd29ybGQ"], "hello world", JAVA),
    Example("FROM_BASE64", ["!"], source=JAVA, raises="FROM_BASE64 cannot read '!'"),
]


@corpus("example", EXAMPLES, 21)
def test_example(example: Example) -> None:
    example.check()
