"""MD5, SHA1, SHA2 and its like. The digests are those of published test vectors (RFC 1321, FIPS 180)."""

from __future__ import annotations

import hashlib

from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, Example, null, of

from millrace.relational import types as t

VECTORS = "RFC 1321 and FIPS 180, for 'abc'"

EXAMPLES = [
    Example("MD5", ["abc"], of(t.CharType(32), "900150983cd24fb0d6963f7d28e17f72"), VECTORS),
    Example("MD5", [""], "d41d8cd98f00b204e9800998ecf8427e", VECTORS),
    Example("SHA1", ["abc"], of(t.CharType(40), "a9993e364706816aba3e25717850c26c9cd0d89d"), VECTORS),
    Example("SHA224", ["abc"], "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7", VECTORS),
    Example("SHA256", ["abc"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", VECTORS),
    *(
        Example(name, [text], hashlib.new(name, text.encode()).hexdigest(), PYTHON)
        for name in ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512")
        for text in ("", "Flink ✓", "a" * 1000)
    ),
    Example("MD5", [b"abc"], "900150983cd24fb0d6963f7d28e17f72", VECTORS),
    Example("SHA2", ["abc", 256], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", VECTORS),
    Example("SHA2", ["abc", 512], hashlib.sha512(b"abc").hexdigest(), PYTHON),
    Example("SHA2", ["abc", null(t.IntType())], None, DOCS),
    Example("SHA2", ["abc", 1], source=DOCS, raises="SHA2 has digests of 224, 256, 384 and 512 bits, not of 1"),
]


@corpus("example", EXAMPLES, 28)
def test_example(example: Example) -> None:
    example.check()
