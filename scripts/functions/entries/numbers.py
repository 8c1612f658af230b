"""Arithmetic, mathematics, chance."""

from __future__ import annotations

from .entry import Entry

TOPICS = {
    "Arithmetic": (
        Entry("plus", "1 + 2", "the sum; also a time and an interval", ("+",)),
        Entry("minus", "1 - 2", "the difference; also of times and intervals", ("-",)),
        Entry("minusPrefix", "-(1 + 2)", "the number with the other sign"),
        Entry("times", "3 * 2", "the product; also of an interval and a number", ("*",)),
        Entry("divide", "7 / 2", "the quotient: whole for whole numbers; an error for 0, Infinity for DOUBLE", ("/",)),
        Entry("mod", "MOD(7, 3)", "what is left of a division; it has the sign of the first number", ("%",)),
        Entry("abs", "ABS(-1.5)", "the number without its sign"),
        Entry("sign", "SIGN(-3)", "-1, 0 or 1"),
        Entry("ceil", "CEIL(1.2)", "the next whole number upwards; of a time: `CEIL(ts TO HOUR)`", ("CEILING",)),
        Entry("floor", "FLOOR(-1.2)", "the next whole number downwards; of a time: `FLOOR(ts TO HOUR)`"),
        Entry("round", "ROUND(2.345, 2)", "rounded half up to so many places"),
        Entry("truncate", "TRUNCATE(2.345, 2)", "cut off after so many places"),
    ),
    "Mathematics": (
        Entry("e", "E()", "Euler's number"),
        Entry("pi", "PI()", "the circle's number"),
        Entry("exp", "EXP(1)", "e to the power"),
        Entry("ln", "LN(10)", "the natural logarithm"),
        Entry("log", "LOG(2, 8)", "the logarithm to a base, which is the first argument; natural with one argument"),
        Entry("log10", "LOG10(1000)", "the logarithm to the base 10"),
        Entry("log2", "LOG2(8)", "the logarithm to the base 2"),
        Entry("power", "POWER(2, 10)", "the first number to the power of the second, as DOUBLE"),
        Entry("sqrt", "SQRT(2)", "the square root"),
        Entry("sin", "SIN(1)", "sine; angles are in radians"),
        Entry("cos", "COS(1)", "cosine"),
        Entry("tan", "TAN(1)", "tangent"),
        Entry("cot", "COT(1)", "cotangent"),
        Entry("asin", "ASIN(0.5)", "the angle whose sine this is"),
        Entry("acos", "ACOS(0.5)", "the angle whose cosine this is"),
        Entry("atan", "ATAN(1)", "the angle whose tangent this is"),
        Entry("atan2", "ATAN2(1, -1)", "the angle of the point (second argument, first argument)"),
        Entry("sinh", "SINH(1)", "hyperbolic sine"),
        Entry("cosh", "COSH(1)", "hyperbolic cosine"),
        Entry("tanh", "TANH(1)", "hyperbolic tangent"),
        Entry("degrees", "DEGREES(PI())", "radians as degrees"),
        Entry("radians", "RADIANS(180)", "degrees as radians"),
        Entry("bin", "BIN(10)", "a whole number's binary digits"),
        Entry("hex", "HEX(255)", "a whole number's hexadecimal digits, or those of a text's bytes"),
        Entry("UNHEX", "UNHEX('4D69')", "bytes of hexadecimal digits; NULL if they are none"),
    ),
    "Chance": (
        Entry("rand", "RAND(1)", "a DOUBLE from 0 to below 1, the same in each run with a seed", varies="0 to 1"),
        Entry(
            "randInteger", "RAND_INTEGER(1, 10)", "a whole number from 0 to below the last argument", varies="0 to 9"
        ),
        Entry("uuid", "CHAR_LENGTH(UUID())", "a random UUID as text, here its length"),
    ),
}
