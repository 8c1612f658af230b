"""The words that some functions take: units of time, ways to treat errors in JSON.

The values are PyFlink's, of which all but the last of each class are tuples.
"""

from __future__ import annotations

from enum import Enum


class TimeIntervalUnit(Enum):
    """Units of a time span, for ``extract``, ``floor`` and ``ceil``.

        >>> next(clicks.select(col("at").extract(TimeIntervalUnit.MINUTE)).execute().collect())
        <Row(20)>
    """

    YEAR = (0,)
    YEAR_TO_MONTH = (1,)
    QUARTER = (2,)
    MONTH = (3,)
    WEEK = (4,)
    DAY = (5,)
    DAY_TO_HOUR = (6,)
    DAY_TO_MINUTE = (7,)
    DAY_TO_SECOND = (8,)
    HOUR = (9,)
    SECOND = (10,)
    HOUR_TO_MINUTE = (11,)
    HOUR_TO_SECOND = (12,)
    MINUTE = (13,)
    MINUTE_TO_SECOND = 14


class TimePointUnit(Enum):
    """Units of a difference, for ``timestamp_diff``.

        >>> hours = timestamp_diff(TimePointUnit.HOUR, col("at"), lit("1970-01-02 00:00:00").to_timestamp)
        >>> next(clicks.select(hours).execute().collect())
        <Row(23)>
    """

    YEAR = (0,)
    MONTH = (1,)
    DAY = (2,)
    HOUR = (3,)
    MINUTE = (4,)
    SECOND = (5,)
    QUARTER = (6,)
    WEEK = (7,)
    MILLISECOND = (8,)
    MICROSECOND = 9


class JsonType(Enum):
    """Kinds of JSON, for ``is_json``.

        >>> next(orders.select(lit("[1]").is_json(JsonType.ARRAY)).execute().collect())
        <Row(True)>
    """

    VALUE = (0,)
    SCALAR = (1,)
    ARRAY = (2,)
    OBJECT = 3


class JsonExistsOnError(Enum):
    """What ``json_exists`` says of a wrong path.

        >>> next(orders.select(lit('{"a": 1}').json_exists("$.a", JsonExistsOnError.FALSE)).execute().collect())
        <Row(True)>
    """

    TRUE = (0,)
    FALSE = (1,)
    UNKNOWN = (2,)
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """What ``json_value`` gives where there is no value, or an error.

        >>> value = lit('{"a": 1}').json_value("lax $.b", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 0)
        >>> next(orders.select(value).execute().collect())
        <Row(0)>
    """

    NULL = (0,)
    ERROR = (1,)
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """When ``json_query`` puts what it finds into an array.

        >>> inside = lit('{"a": 1}').json_query("$.a", JsonQueryWrapper.UNCONDITIONAL_ARRAY)
        >>> next(orders.select(inside).execute().collect())
        <Row('[1]')>
    """

    WITHOUT_ARRAY = (0,)
    CONDITIONAL_ARRAY = (1,)
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """What ``json_query`` gives where there is nothing, or an error.

        >>> empty = JsonQueryOnEmptyOrError.EMPTY_ARRAY
        >>> inside = lit("{}").json_query("lax $.a", JsonQueryWrapper.WITHOUT_ARRAY, empty)
        >>> next(orders.select(inside).execute().collect())
        <Row('[]')>
    """

    NULL = (0,)
    EMPTY_ARRAY = (1,)
    EMPTY_OBJECT = (2,)
    ERROR = 3


class JsonOnNull(Enum):
    """Whether NULLs get into the JSON that ``json_object`` and its like make.

        >>> next(orders.select(json_array(JsonOnNull.ABSENT, 1, null_of(DataTypes.INT()))).execute().collect())
        <Row('[1]')>
    """

    NULL = (0,)
    ABSENT = 1
