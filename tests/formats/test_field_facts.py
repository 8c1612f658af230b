"""Fields of CSV are read and written as Flink does; what differs is one of the kinds of ``docs/differences.md``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from tests.flink.fields.facts import Fact, facts
from tests.formats import field_answers
from tests.formats.field_answers import Answer, Rows
from tests.rings import taken

Rule = Callable[[Fact, Rows], bool]

_TIMES = ("DATE", "TIME", "SQL", "LOCAL", "INSTANT")
_TRUTH = re.compile("true|false", re.IGNORECASE)


def _bare(fact: Fact) -> str:
    return fact.text.strip().strip("\"'").strip()


def _refused(fact: Fact, rows: Rows) -> bool:
    """We refuse the field, or the row, that Flink takes."""
    return not rows or rows[0][0] is None


def _null(fact: Fact, rows: Rows) -> bool:
    return bool(rows) and rows[0][0] is None  # type: ignore[index]


def _is_time(fact: Fact) -> bool:
    return fact.type.startswith(_TIMES)


def _is_number(fact: Fact) -> bool:
    return not fact.type.startswith((*_TIMES, "STRING", "BYTES", "BOOLEAN", "ARRAY", "ROW"))


RULES: dict[str, Rule] = {
    "an empty field that is neither text nor bytes is NULL": lambda fact, rows: (
        _null(fact, rows) and _bare(fact).strip(",") == ""
    ),
    "an empty element or part that is no text is NULL": lambda fact, rows: (
        fact.type.startswith(("ARRAY", "ROW")) and fact.rows in (None, []) and bool(rows) and ";" in fact.text
    ),
    "the text of NULL is NULL also where a column is an ARRAY or a ROW": lambda fact, rows: (
        fact.type.startswith(("ARRAY", "ROW")) and _null(fact, rows) and _bare(fact) == fact.options.get("null")
    ),
    "a BOOLEAN is true or false": lambda fact, rows: (
        fact.type == "BOOLEAN" and _refused(fact, rows) and not _TRUTH.fullmatch(fact.text)
    ),
    "digits are those of ASCII": lambda fact, rows: _refused(fact, rows) and not fact.text.isascii(),
    "days, times and years that are not there are refused": lambda fact, rows: _is_time(fact) and _refused(fact, rows),
    "dates of the Julian calendar stay as they are": lambda fact, rows: "1582-10" in fact.text,
    "digits of a second that the type does not have are cut off": lambda fact, rows: (
        fact.type.startswith(("TIMESTAMP", "LOCAL_DATE_TIME", "SQL_TIMESTAMP")) and "." in fact.text
    ),
    "a time of a row may have a fraction, and a moment one digit": lambda fact, rows: (
        fact.door == "csv-row" and _is_time(fact) and bool(rows) and not _null(fact, rows)
    ),
    "FLOAT has the shortest text": lambda fact, rows: fact.type == "FLOAT" and fact.text == "123456789.123456789",
    "a DECIMAL that is far too large is NULL": lambda fact, rows: (
        fact.type.startswith("DECIMAL") and _null(fact, rows) and fact.text == "1e9999999999"
    ),
    "a line that begins with a comment's mark is left out": lambda fact, rows: bool(
        fact.options.get("comments") and fact.text.lstrip().startswith("#")
    ),
    "blanks are a part of text, also where there are comments": lambda fact, rows: bool(
        fact.options.get("comments") and (fact.text != fact.text.strip() or not fact.text.strip('" '))
    ),
    "a quoted field ends with its quote": lambda fact, rows: fact.text == '"a" ' and not rows,
    "further lines of a message are malformed": lambda fact, rows: (
        fact.door == "csv" and "\n" in fact.text and not rows
    ),
    "an empty message is none": lambda fact, rows: fact.text == "" and rows == [] and fact.rows is None,
    "a record of two lines in a file is two": lambda fact, rows: fact.door == "csv-reader" and "\r" in fact.text,
}
WRITTEN: dict[str, Rule] = {
    "a moment has no fraction of 0": lambda fact, rows: fact.type == "SQL_TIMESTAMP",
    "a time has seconds": lambda fact, rows: fact.type == "LOCAL_TIME",
    "FLOAT has the shortest text": RULES["FLOAT has the shortest text"],
    "an ARRAY of a NULL is written as one": lambda fact, rows: fact.type.startswith("ARRAY"),
}


def _why(rules: dict[str, Rule], fact: Fact, rows: Rows) -> str | None:
    return next((reason for reason, rule in rules.items() if rule(fact, rows)), None)


RULES_OF_JSON: dict[str, Rule] = {
    "digits and blanks are those of ASCII": lambda fact, rows: not fact.message.isascii() or "\\u" in fact.message,
    "a BOOLEAN is true or false": lambda fact, rows: fact.type == "BOOLEAN" and _refused(fact, rows),
    "days, times and years that are not there are refused": RULES[
        "days, times and years that are not there are refused"
    ],
    "dates of the Julian calendar stay as they are": RULES["dates of the Julian calendar stay as they are"],
    "digits of a second that the type does not have are cut off": lambda fact, rows: (
        fact.type.startswith(("TIME", "SQL_TIME", "LOCAL_DATE_TIME", "INSTANT")) and "." in fact.text
    ),
    "TIME needs no seconds": lambda fact, rows: fact.type.startswith("TIME(") and fact.text.count(":") == 1,
    "times of rows need no Z, a T or a blank, and moments may have an offset": lambda fact, rows: (
        fact.door == "json-row" and _is_time(fact) and bool(rows) and _refused(fact, fact.rows)
    ),
    "FLOAT has the shortest text": lambda fact, rows: fact.type == "FLOAT" and "123456789.123456789" in fact.text,
    "a DECIMAL that is far too large is NULL": lambda fact, rows: (
        fact.type.startswith("DECIMAL") and _null(fact, rows) and "1e9999999999" in fact.text
    ),
    "zeros at the end of a BIG_DEC stay": lambda fact, rows: fact.type == "BIG_DEC" and fact.text in ("1.0", "1.50"),
    "numbers in a STRING are printed as they were, or as Python does": lambda fact, rows: (
        fact.type in ("STRING", "ROW<a INT, b STRING>", "MAP<STRING, STRING>", "ARRAY<STRING>")
        or (fact.type == "INT" and "last" in fact.text)
    ),
    "Base64 has no blanks, and other values are none": lambda fact, rows: fact.type == "BYTES" and _refused(fact, rows),
    "a field that does not fit takes no other one with it": lambda fact, rows: (
        fact.door == "json" and "lenient" in fact.options and fact.text.startswith(("{", "["))
    ),
    "a MAP is an object": lambda fact, rows: fact.type.startswith("MAP") and _refused(fact, rows),
    "what stands behind the message's value is malformed": lambda fact, rows: bool(
        fact.options.get("whole") and not rows
    ),
}


@pytest.mark.parametrize(
    ("door", "answer", "compared", "known"),
    [("json", field_answers.of_table, 6_200, 500), ("json-row", field_answers.of_json_row, 4_400, 680)],
)
def test_json(door: str, answer: Callable[[Fact], Answer], compared: int, known: int) -> None:
    count, differ = _compared(door, answer, RULES_OF_JSON, WRITTEN_AS_JSON)
    assert count >= compared
    assert differ <= known


WRITTEN_AS_JSON: dict[str, Rule] = {
    "characters beyond 16 bits are not escaped": lambda fact, rows: (
        not fact.written[0].isascii()  # type: ignore[union-attr]
        or "\\u" in str(fact.written)
    ),
    "TIME is written with its digits": lambda fact, rows: "TIME" in fact.type,
}


@pytest.mark.parametrize(
    ("door", "answer", "compared", "known"),
    [
        ("csv", field_answers.of_table, 6_300, 800),
        ("csv-reader", field_answers.of_csv_reader, 3_800, 500),
        ("csv-row", field_answers.of_csv_row, 5_400, 810),
    ],
)
def test_csv(door: str, answer: Callable[[Fact], Answer], compared: int, known: int) -> None:
    count, differ = _compared(door, answer, RULES, WRITTEN)
    assert count >= compared
    assert differ <= known


def _compared(
    door: str, answer: Callable[[Fact], Answer], rules: dict[str, Rule], written_rules: dict[str, Rule]
) -> tuple[int, int]:
    """The number of texts, of which ring 2 compares a draw, and of those that differ for a reason."""
    reasons: Counter[str] = Counter()
    wrong: list[str] = []
    everything = list(facts(door))
    for fact in taken(everything, 3):
        rows, written = answer(fact)
        if rows != fact.rows:
            _note(_why(rules, fact, rows), reasons, wrong, f"{fact.rows} is read as {rows}", fact)
        elif written != fact.written:
            _note(_why(written_rules, fact, rows), reasons, wrong, f"{fact.written} is written as {written}", fact)
    print(f"{door}: {len(everything)} texts, {sum(reasons.values())} differ: {dict(reasons)}")
    assert not wrong, "\n".join([f"{len(wrong)}:", *wrong[:40]])
    return len(everything), sum(reasons.values())


def _note(reason: str | None, reasons: Counter[str], wrong: list[str], what: str, fact: Fact) -> None:
    if reason is None:
        wrong.append(f"{fact.door} {fact.type} {fact.options} {fact.text!r}: {what}")
    else:
        reasons[reason] += 1


def test_files_of_tables_are_read_as_messages_are() -> None:
    """Flink's two doors of tables, which is why ours are one."""
    messages = {(fact.type, str(fact.options), fact.text): fact.rows for fact in facts("csv")}
    differ = [
        fact
        for fact in facts("csv-file")
        if messages.get((fact.type, str(fact.options), fact.text), fact.rows) != fact.rows
    ]
    assert {_special(fact) for fact in differ} <= {"comment", "several lines", "empty"}, differ


def _special(fact: Fact) -> str:
    if fact.options.get("comments"):
        return "comment"
    return "several lines" if "\n" in fact.text else "empty" if not fact.text.strip(",") else fact.text


def test_files_of_streams_are_read_as_files_of_tables_are() -> None:
    """But for malformed fields that are to be ignored: they are NULL in tables, and take the record with them here."""
    tables = {(fact.type, str(fact.options), fact.text): fact.rows for fact in facts("csv-file")}
    compared: Sequence[Fact] = [fact for fact in facts("csv-reader") if "lenient" not in fact.options]
    assert len(compared) > 3_000
    assert [fact for fact in compared if tables[fact.type, str(fact.options), fact.text] != fact.rows] == []
