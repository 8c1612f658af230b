"""What types and descriptors of columns say and check."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from pyflink.common.config_options import ConfigOptions
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Schema,
    TableDescriptor,
    TableEnvironment,
)
from pyflink.table.expressions import call_sql, col
from pyflink.table.types import LocalZonedTimestampType, UserDefinedType, _create_type_verifier
from tests.dropin.checks import raises


class PairType(UserDefinedType):  # type: ignore[misc]
    """Two numbers."""

    @classmethod
    def sql_type(cls) -> Any:
        return DataTypes.ARRAY(DataTypes.DOUBLE(False))

    @classmethod
    def module(cls) -> str:
        return __name__

    def serialize(self, obj: Any) -> Any:
        return [obj.one, obj.other]

    def deserialize(self, datum: Any) -> Any:
        return Pair(*datum)


class Pair:
    """A value of that type."""

    __UDT__ = PairType()

    def __init__(self, one: float, other: float) -> None:
        self.one = one
        self.other = other


def a_user_defined_type_is_checked_without_its_nullability() -> None:
    """NOT NULL refuses None, and no value of the type."""
    check = _create_type_verifier(PairType().not_null())
    check(Pair(1.0, 2.0))
    with raises(ValueError):
        check(None)
    with raises(ValueError):
        check([1.0, 2.0])


def values_of_a_user_defined_type_are_written_as_those_of_its_sql_type() -> None:
    """Their columns go into columns of that type."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    schema = Schema.new_builder().column("pair", DataTypes.ARRAY(DataTypes.DOUBLE(False))).build()
    files = TableDescriptor.for_connector("filesystem").schema(schema).format("json")
    t_env.create_temporary_table("files", files.option("path", str(Path("pairs").resolve())).build())
    table = t_env.from_elements([(Pair(1.0, 2.5),)], DataTypes.ROW([DataTypes.FIELD("pair", PairType())]))
    table.execute_insert("files").wait()
    (written,) = (each for each in Path("pairs").rglob("*") if each.is_file() and not each.name.startswith("."))
    assert written.read_text().strip() == '{"pair":[1.0,2.5]}'


def the_zone_of_instants_can_be_set() -> None:
    """EPOCH_ORDINAL is added to the microseconds of an instant."""
    kind, before = DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(), LocalZonedTimestampType.EPOCH_ORDINAL
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    try:
        LocalZonedTimestampType.EPOCH_ORDINAL = 5_000_000
        assert kind.to_sql_type(epoch) == 5_000_000
    finally:
        LocalZonedTimestampType.EPOCH_ORDINAL = before


def spans_and_views_are_printed_shortly() -> None:
    """The units of an interval are left out, and a view of an accumulator has no nullability."""
    assert repr(DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3))) == "DayTimeIntervalType(true)"
    assert repr(DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH())) == "YearMonthIntervalType(true)"
    assert repr(DataTypes.LIST_VIEW(DataTypes.INT())) == "ListViewType(IntType(true))"
    assert repr(DataTypes.MAP_VIEW(DataTypes.INT(), DataTypes.DATE())) == "MapViewType(IntType(true), DateType(true))"


def a_schema_is_printed_as_it_was_described() -> None:
    """Metadata without a key has no FROM, SQL is in brackets once, expressions are not."""
    builder = Schema.new_builder().column_by_metadata("topic", DataTypes.STRING(), None, True)
    builder = builder.column_by_metadata("at", DataTypes.TIMESTAMP(3), "timestamp")
    builder = builder.column_by_expression("early", call_sql("at - INTERVAL '60' MINUTE"))
    builder = builder.column_by_expression("more", col("at") + 1)
    builder = builder.column_by_expression("now", "PROCTIME()").watermark("early", "early - INTERVAL '5' SECOND")
    assert str(builder.build()).splitlines()[1:-1] == [
        "  `topic` STRING METADATA VIRTUAL,",
        "  `at` TIMESTAMP(3) METADATA FROM 'timestamp',",
        "  `early` AS [at - INTERVAL '60' MINUTE],",
        "  `more` AS plus(at, 1),",
        "  `now` AS [PROCTIME()],",
        "  WATERMARK FOR `early` AS [early - INTERVAL '5' SECOND]",
    ]


def options_of_descriptors_are_printed_in_the_order_of_java() -> None:
    """That of a HashMap, also where it has grown."""
    option = ConfigOptions.key("a").boolean_type().no_default_value()
    form = FormatDescriptor.for_format("test-format").option(option, False).option("zone", "UTC").build()
    described = TableDescriptor.for_connector("test").option(option, True).format(form)
    for number in range(20):
        described = described.option(f"option.{number}", str(number))
    assert str(form) == "test-format[{a=false, zone=UTC}]"
    shown = [line.split("'")[1] for line in str(described.build()).splitlines() if line.startswith("  '")]
    assert " ".join(each.removeprefix("option.") for each in shown) == (
        "16 17 14 15 12 13 10 test-format.a 11 9 a format test-format.zone 3 4 1 2 connector 7 8 5 6 0 18 19"
    )
