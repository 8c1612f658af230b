"""Dates and times, now, time zones."""

from __future__ import annotations

from .entry import Entry

_NOW = "the moment"

TOPICS = {
    "Times": (
        Entry("extract", "EXTRACT(HOUR FROM TIMESTAMP '2026-03-05 10:30:00')", "a part of a time or an interval"),
        Entry("YEAR", "YEAR(DATE '2026-03-05')", "EXTRACT(YEAR ..)"),
        Entry("QUARTER", "QUARTER(DATE '2026-03-05')", "EXTRACT(QUARTER ..), 1 to 4"),
        Entry("MONTH", "MONTH(DATE '2026-03-05')", "EXTRACT(MONTH ..), 1 to 12"),
        Entry("WEEK", "WEEK(DATE '2026-03-05')", "the ISO week, 1 to 53"),
        Entry("DAYOFYEAR", "DAYOFYEAR(DATE '2026-03-05')", "1 to 366"),
        Entry("DAYOFMONTH", "DAYOFMONTH(DATE '2026-03-05')", "1 to 31"),
        Entry("DAYOFWEEK", "DAYOFWEEK(DATE '2026-03-05')", "1 is Sunday, 7 Saturday"),
        Entry("HOUR", "HOUR(TIMESTAMP '2026-03-05 10:30:15')", "0 to 23"),
        Entry("MINUTE", "MINUTE(TIMESTAMP '2026-03-05 10:30:15')", "0 to 59"),
        Entry("SECOND", "SECOND(TIMESTAMP '2026-03-05 10:30:15')", "0 to 59"),
        Entry("TIMESTAMPADD", "TIMESTAMPADD(DAY, 2, DATE '2026-03-05')", "so many units later"),
        Entry(
            "timestampDiff",
            "TIMESTAMPDIFF(HOUR, TIMESTAMP '2026-03-05 10:30:00', TIMESTAMP '2026-03-06 10:00:00')",
            "whole units from the first time to the second",
            ("TIMESTAMPDIFF",),
        ),
        Entry("dateFormat", "DATE_FORMAT(TIMESTAMP '2026-03-05 10:30:00', 'yyyy/MM/dd HH:mm')", "a time as text, by a pattern of Java's"),
        Entry("toDate", "TO_DATE('05.03.2026', 'dd.MM.yyyy')", "a date of text, by a pattern; without one `yyyy-MM-dd`"),
        Entry("toTimestamp", "TO_TIMESTAMP('2026-03-05 10:30:00')", "a TIMESTAMP(3) of text; NULL if it is none"),
        Entry("TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ(1772706600, 0)", "the moment of seconds (precision 0), milliseconds (3) or other parts (up to 9) since 1970, or of a text"),
        Entry("fromUnixtime", "FROM_UNIXTIME(1772706600)", "seconds since 1970 as text in the session's zone"),
        Entry("unixTimestamp", "UNIX_TIMESTAMP('2026-03-05 10:30:00')", "seconds since 1970 of a text in the session's zone; without one: now"),
        Entry("convertTz", "CONVERT_TZ('2026-03-05 10:30:00', 'UTC', 'Asia/Shanghai')", "a text's time in another zone"),
    ),
    "Now": (
        Entry("currentDate", "CURRENT_DATE", "today in the session's zone", varies=_NOW),
        Entry("currentTime", "CURRENT_TIME", "the time of day in the session's zone", varies=_NOW),
        Entry("localTime", "LOCALTIME", "the same", varies=_NOW),
        Entry("currentTimestamp", "CURRENT_TIMESTAMP", "the moment as TIMESTAMP_LTZ(3): the start of a batch query, of each row in streaming", varies=_NOW),
        Entry("now", "NOW()", "the same", varies=_NOW),
        Entry("localTimestamp", "LOCALTIMESTAMP", "the moment as TIMESTAMP(3) in the session's zone", varies=_NOW),
        Entry("currentRowTimestamp", "CURRENT_ROW_TIMESTAMP()", "the moment of each row, in batch, too", varies=_NOW),
        Entry("proctime", "PROCTIME()", "a time attribute: processing time", varies=_NOW),
        Entry("CURRENT_WATERMARK", "CURRENT_WATERMARK(ts)", "the watermark of a row's time attribute; NULL before the first", varies="NULL, then a time"),
        Entry("SOURCE_WATERMARK", "SOURCE_WATERMARK()", "only in `WATERMARK FOR ts AS SOURCE_WATERMARK()`: the source's own watermarks", varies="the watermark"),
    ),
}  # fmt: skip
