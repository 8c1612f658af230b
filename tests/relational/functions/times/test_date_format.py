from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, SOURCE, Example, of

from millrace.relational import types as t
from millrace.relational.functions.time_formatting import formatter, strftime
from millrace.relational.functions.time_parsing import simple_parser, strict_parser

AT = dt.datetime(2024, 3, 5, 15, 4, 9, 123456)
MORNING = dt.datetime(2024, 12, 30, 0, 7, 8)


def _formats(at: object, pattern: str, gives: str | None, source: str = JAVA, zone: str = "UTC") -> Example:
    return Example("DATE_FORMAT", [at, pattern], of(t.string(), gives), source, zone=zone)


def _plain(at: object, pattern: str, gives: str, source: str = JAVA) -> Example:
    """Spark computes these, if the pattern is constant."""
    return Example("DATE_FORMAT", [at, pattern], of(t.string(), gives), source, constant=(1,))


EXAMPLES = [
    _plain(AT, "yyyy-MM-dd HH:mm:ss", "2024-03-05 15:04:09", DOCS),
    _plain(AT, "yyyyMMdd", "20240305"),
    _plain(AT, "'it''s' HH:mm \\", "it's 15:04 \\"),
    _plain(AT.replace(tzinfo=dt.timezone.utc), "dd.MM.yyyy HH", "05.03.2024 15"),
    _plain(dt.datetime(987, 6, 5), "yyyy-MM-dd", "0987-06-05"),
    _formats(AT, "yyyy-MM-dd'T'HH:mm:ss.SSS", "2024-03-05T15:04:09.123"),
    _formats(AT, "SSSSSSSSS n", "123456000 123456000"),
    _formats(AT, "yy M d H m s", "24 3 5 15 4 9"),
    _formats(AT, "EEE EEEE EEEEE MMM MMMM MMMMM", "Tue Tuesday T Mar March M"),
    _formats(AT, "h hh K KK a", "3 03 3 03 PM"),
    _formats(MORNING, "h K k H a", "12 0 24 0 AM"),
    _formats(AT, "D DDD Q QQ QQQ QQQQ", "65 065 1 01 Q1 1st quarter"),
    _formats(MORNING, "YYYY-'W'ww e", "2025-W01 2"),
    _formats(AT, "uuuu G GGGG", "2024 AD Anno Domini"),
    _formats(AT, "'it''s' yyyy''", "it's 2024'"),
    _formats(AT, "yyyy[-MM]", "2024-03"),
    _formats(AT, "% yyyy", "% 2024"),
    _formats(AT.replace(tzinfo=dt.timezone.utc), "HH:mm", "16:04", DOCS, "Europe/Berlin"),
    _formats(AT.replace(tzinfo=dt.timezone.utc), "MM-dd HH:mm:ss.SSS", "03-06 00:04:09.123", DOCS, "Asia/Tokyo"),
    _formats("2024-03-05 15:04:09", "dd.MM.yy HH'h'", "05.03.24 15h", SOURCE),
    _formats("2024-03-32 25:00:00", "yyyy-MM-dd HH", "2024-04-02 01"),
    _formats("yesterday", "yyyy", None, SOURCE),
    _formats(dt.date(2024, 3, 5), "dd/MM/yyyy u F W", "05/03/2024 2 1 2"),
    _formats("2024-03-05 15:04:09", "SSSS z Z X XXX", "0000 UTC +0000 Z Z"),
    Example("DATE_FORMAT", [AT, "yyyy b"], None, JAVA, raises="letter 'b' of the pattern 'yyyy b' has no meaning"),
    Example("DATE_FORMAT", [AT, "yyyy 'x"], None, JAVA, raises="a quote is not closed"),
    Example("DATE_FORMAT", [AT, "HH:mm z"], None, JAVA, raises="asks for a time zone"),
    Example("DATE_FORMAT", [AT, "yyyy["], None, JAVA, raises="'[' without ']'"),
]


@corpus("example", EXAMPLES, 28)
def test_example(example: Example) -> None:
    example.check()


_TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
_PLAIN = {"yyyy": "{0:%Y}", "MM": "{0:%m}", "dd": "{0:%d}", "HH": "{0:%H}", "mm": "{0:%M}", "ss": "{0:%S}"}


@given(_TIMES, st.lists(st.sampled_from([*_PLAIN, "-", " ", ":", "'T'"]), min_size=1))
def test_plain_patterns_are_those_of_strftime(at: dt.datetime, parts: list[str]) -> None:
    parts = [part for index, part in enumerate(parts) if index == 0 or parts[index - 1][0] != part[0]]
    expected = "".join(
        f"{at.year:04}" if part == "yyyy" else _PLAIN.get(part, part.strip("'")).format(at) for part in parts
    )
    pattern = "".join(parts)
    assert formatter(pattern, False)(at) == formatter(pattern, True)(at) == expected
    example = Example("DATE_FORMAT", [at, pattern])
    assert strftime(pattern) is not None
    assert example.run(example.call([0]), [[at, pattern], [None, pattern]]) == [expected, None]


@given(
    st.sampled_from(["yyyy-MM-dd", "HH", "mm yyyy", "dd HH:mm", "ss", "'at'"]),
    _TIMES,
    st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6)), min_size=1),
)
def test_a_column_is_written_as_its_rows(pattern: str, start: dt.datetime, steps: list[int | None]) -> None:
    some = dt.datetime(2, 1, 1) if start.year == 1 else min(start, dt.datetime(9998, 1, 1))
    times = [None if step is None else some + dt.timedelta(seconds=step / 7) for step in steps]
    example = Example("DATE_FORMAT", [AT, pattern])
    written = formatter(pattern, False)
    expected = [None if at is None else written(at) for at in times]
    assert example.run(example.call([0]), [[at, pattern] for at in times]) == expected


@pytest.mark.parametrize(
    "pattern",
    ["yyyy-MM-dd HH:mm:ss.SSSSSS", "SSSSSS ss mm HH dd MM uuuu", "yyyyDDD HHmmssSSSSSS", "yyyy MMMM d h:m:s a SSSSSS"],
)
@given(at=_TIMES)
def test_what_is_written_is_read_again(pattern: str, at: dt.datetime) -> None:
    assert strict_parser(pattern)(formatter(pattern, False)(at)) == at


@given(at=_TIMES)
def test_what_the_old_formatter_writes_is_read_again(at: dt.datetime) -> None:
    whole = at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=dt.timezone(dt.timedelta(hours=5)))
    pattern = "EEE dd MMM yyyy HH:mm:ss.SSS Z"
    found = simple_parser(pattern)(formatter(pattern, True)(whole))
    assert found == (whole.replace(tzinfo=None), whole.tzinfo)


def test_the_old_parser_reads_a_beginning_and_two_digits_of_a_year_near_today() -> None:
    assert simple_parser("yyyy-MM-dd")("2024-01-05 and more") == (dt.datetime(2024, 1, 5), None)
    now = dt.datetime.now().year
    found = simple_parser("yy")("24")
    assert found is not None and found[0].year % 100 == 24 and now - 80 <= found[0].year <= now + 20


@pytest.mark.parametrize("pattern", ["Q", "YYYY", "w"])
def test_letters_that_cannot_be_read_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="cannot be read with letter"):
        strict_parser(pattern)
