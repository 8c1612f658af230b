from __future__ import annotations

import datetime
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Duration, Instant, Time, to_millis

COUNTS = st.integers(-(10**6), 10**6)


@given(COUNTS)
def test_every_way_to_say_a_span_gives_the_same_millis(count: int) -> None:
    for name in ("days", "hours", "minutes", "seconds"):
        expected = int(datetime.timedelta(**{name: count}).total_seconds() * 1000)
        assert to_millis(getattr(Duration, f"of_{name}")(count)) == expected
        assert to_millis(getattr(Time, name)(count)) == expected
        assert to_millis(datetime.timedelta(**{name: count})) == expected
    assert to_millis(Duration.of_millis(count)) == to_millis(Time.milliseconds(count)) == count


@pytest.mark.parametrize(("nanos", "millis"), [(0, 0), (999_999, 0), (1_000_000, 1), (-1, 0), (-1_000_001, -1)])
def test_nanos_are_cut_off_towards_zero(nanos: int, millis: int) -> None:
    assert Duration.of_nanos(nanos).to_millis() == millis


@pytest.mark.parametrize("wrong", [5, "5 s", 1.5, None])
def test_to_millis_refuses_what_is_no_span(wrong: object) -> None:
    with pytest.raises(TypeError, match="expected a Duration"):
        to_millis(wrong)  # type: ignore[arg-type]


def test_whole_numbers_only() -> None:
    with pytest.raises(TypeError):
        Duration.of_seconds(0.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Time.seconds(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (Duration.of_millis(1500), "PT1.5S"),  # as java.time.Duration shows these
        (Duration.of_minutes(90), "PT1H30M"),
        (Duration.of_nanos(-1), "PT-0.000000001S"),
        (Duration.of_days(2), "PT48H"),
        (Duration.of_millis(0), "PT0S"),
    ],
)
def test_text(duration: Duration, text: str) -> None:
    assert repr(duration) == text


def test_equality_and_hash() -> None:
    assert len({Duration.of_seconds(60), Duration.of_minutes(1), Duration.of_nanos(60 * 10**9)}) == 1
    assert len({Time.seconds(60), Time.minutes(1)}) == 1
    assert Duration.of_seconds(1) != Time.seconds(1)
    assert (str(Time.seconds(2)), repr(Time.seconds(2))) == ("2000 ms", "Time(2000 ms)")
    for value in (Duration.of_days(3), Time.days(3), Instant(1, 2)):
        assert pickle.loads(pickle.dumps(value)) == value


@given(st.integers(-(2**62), 2**62))
def test_instants_keep_millis(millis: int) -> None:
    instant = Instant.of_epoch_milli(millis)
    assert instant.to_epoch_milli() == millis
    assert 0 <= instant.nanos < 10**9


def test_instant_rounds_down() -> None:
    assert Instant(-1, 5).to_epoch_milli() == -1000
    assert Instant(0, 1_999_999).to_epoch_milli() == 1
    assert repr(Instant.of_epoch_milli(-1)) == "Instant<-1, 999000000>"
