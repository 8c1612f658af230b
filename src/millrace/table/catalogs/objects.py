"""The objects that catalogs hold: databases, tables and views with their schemas, partitions, functions, models and
statistics, and the paths that name them (``database.table``, ``catalog.database.table``, backticks where needed)."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import total_ordering
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.common.configuration import Configuration
from millrace.relational.types import DataType, RowType
from millrace.table.catalogs.legacy_schema import TableSchema
from millrace.table.expression_methods.expression import Expression
from millrace.table.values.data_types import data_type_of
from millrace.table.values.program_errors import problem
from millrace.util.fallback import HasOlderNames
from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.relational.nodes import Rel
    from millrace.table.catalogs.resolved_schema import ResolvedSchema

__all__ = [
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "ObjectIdentifier",
    "ObjectPath",
    "Procedure",
    "Schema",
    "quoted",
    "split_path",
]


class Declared(Record):
    """A column. Exactly one of the three kinds: physical (a type alone), computed (``expression``), metadata."""

    name: str
    type: DataType | None = None
    expression: Expression[Any] | str | None = None
    metadata: bool = False
    metadata_key: str | None = None
    virtual: bool = False
    comment: str | None = None
    type_text: str | None = None
    """the type as a program wrote it, where it wrote text"""

    def __str__(self) -> str:
        if self.expression is not None:
            return f"`{self.name}` AS {_in_brackets(self.expression)}"
        text = f"`{self.name}` " + (f"[{self.type_text}]" if self.type_text is not None else str(self.type))
        if self.metadata:
            renamed = self.metadata_key not in (None, self.name)
            text += " METADATA" + (f" FROM '{self.metadata_key}'" if renamed else "")
            text += " VIRTUAL" if self.virtual else ""
        return text


def _in_brackets(expression: Expression[Any] | str) -> str:
    """SQL in brackets; an expression of the Table API is written as it prints."""
    return f"[{expression}]" if isinstance(expression, str) else str(expression)


class DeclaredWatermark(Record):
    column: str
    expression: Expression[Any] | str


class DeclaredKey(Record):
    name: str
    columns: tuple[str, ...]


class DeclaredDistribution(Record):
    """Buckets that a connector spreads the rows over by some columns. ``kind``: HASH, RANGE or None."""

    columns: tuple[str, ...] = ()
    kind: str | None = None
    buckets: int | None = None

    def __str__(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.columns)
        by = f" BY {self.kind or ''}({names})" if names else ""
        return f"DISTRIBUTED{by}" + (f" INTO {self.buckets} BUCKETS" if self.buckets is not None else "")


class Schema:
    """Columns, watermark and primary key; nothing is looked up or checked before the table is used.

    >>> schema = Schema.new_builder().column("name", "STRING").column("at", "TIMESTAMP(3)")
    >>> schema = schema.watermark("at", "at - INTERVAL '5' SECOND").build()
    """

    def __init__(
        self,
        columns: Sequence[Declared] = (),
        watermark: DeclaredWatermark | None = None,
        primary_key: DeclaredKey | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._watermark = watermark
        self._primary_key = primary_key

    @property
    def columns(self) -> tuple[Declared, ...]:
        """The columns as they were declared.

        >>> len(Schema.new_builder().column("n", "INT").build().columns)
        1
        """
        return self._columns

    @property
    def watermark(self) -> DeclaredWatermark | None:
        """The watermark as it was declared; None: there is none."""
        return self._watermark

    @property
    def primary_key(self) -> DeclaredKey | None:
        """The key as it was declared; None: there is none."""
        return self._primary_key

    def __str__(self) -> str:
        return self._text(self._columns)

    def _text(self, columns: Sequence[Declared]) -> str:
        lines = [str(column) for column in columns]
        if self._watermark is not None:
            lines.append(f"WATERMARK FOR `{self._watermark.column}` AS {_in_brackets(self._watermark.expression)}")
        if self._primary_key is not None:
            names = ", ".join(f"`{name}`" for name in self._primary_key.columns)
            lines.append(f"CONSTRAINT `{self._primary_key.name}` PRIMARY KEY ({names}) NOT ENFORCED")
        return "(\n" + ",\n".join(f"  {line}" for line in lines) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._read() == other._read()

    def __hash__(self) -> int:
        return hash(self._read())

    def _read(self) -> str:
        """The text with all types read, as catalogs keep them: how a type was written makes no other schema."""
        return self._text([replace(column, type_text=None) for column in self._columns])

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Begins a schema; ``build()`` ends it.

        >>> schema = Schema.new_builder().column("name", DataTypes.STRING()).primary_key("name").build()
        """
        return Schema.Builder()

    class Builder:
        """Makes a schema, column by column."""

        def __init__(self) -> None:
            self._columns: list[Declared] = []
            self._watermark: DeclaredWatermark | None = None
            self._primary_key: DeclaredKey | None = None

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """A physical column. Without types (of a DataStream's fields), see ``from_data_stream``."""
            return self._add(Declared(column_name, data_type_of(data_type), type_text=_text(data_type)))

        def column_by_expression(self, column_name: str, expr: str | Expression[Any]) -> Schema.Builder:
            """A column computed of others, in SQL or as an expression; it is not written by a sink."""
            return self._add(Declared(column_name, expression=expr))

        def column_by_metadata(
            self, column_name: str, data_type: DataType | str, metadata_key: str | None = None, is_virtual: bool = False
        ) -> Schema.Builder:
            """A column of what the connector knows about a row, e.g. its timestamp.

            :param is_virtual: it is read only, not written.
            """
            kind, key = data_type_of(data_type), metadata_key or column_name
            text = _text(data_type)
            return self._add(Declared(column_name, kind, None, True, key, is_virtual, type_text=text))

        def watermark(self, column_name: str, watermark_expr: str | Expression[Any]) -> Schema.Builder:
            """The event time: ``watermark("ts", "ts - INTERVAL '5' SECOND")``."""
            if self._watermark is not None:
                raise problem("a table has one watermark")
            self._watermark = DeclaredWatermark(column_name, watermark_expr)
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Columns that name a row. Millrace relies on it and does not check it."""
            return self.primary_key_named(f"PK_{'_'.join(column_names)}", *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            if self._primary_key is not None:
                raise problem("a table has one primary key")
            self._primary_key = DeclaredKey(constraint_name, column_names)
            return self

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Take over all that a schema says."""
            self._columns += unresolved_schema.columns
            self._watermark = unresolved_schema.watermark or self._watermark
            self._primary_key = unresolved_schema.primary_key or self._primary_key
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            return self.from_schema(resolved_schema._declared())

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """The fields of a ROW type as physical columns."""
            if not isinstance(data_type, RowType):
                raise problem(f"columns are taken from a ROW type, not from {data_type}")
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(self, field_names: Sequence[str], field_data_types: Sequence[DataType | str]) -> Schema.Builder:
            if len(field_names) != len(field_data_types):
                raise problem(f"{len(field_names)} names and {len(field_data_types)} types")
            for name, data_type in zip(field_names, field_data_types):
                self.column(name, data_type)
            return self

        def _add(self, column: Declared) -> Schema.Builder:
            if any(each.name == column.name for each in self._columns):
                raise problem(f"column '{column.name}' is there twice")
            self._columns.append(column)
            return self

        def build(self) -> Schema:
            known = {column.name for column in self._columns}
            for name in self._primary_key.columns if self._primary_key else ():
                if name not in known:
                    raise problem(f"the primary key names a column that is not there: '{name}'")
            return Schema(self._columns, self._watermark, self._primary_key)


def _text(data_type: DataType | str) -> str | None:
    return data_type if isinstance(data_type, str) else None


# Paths

_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^.`\s][^.`]*?))\s*(\.|$)")


def split_path(path: str) -> list[str]:
    """The parts of a path: ``a.`b.c``` is a, b.c.

    :raises TableException: it is no path.
    """
    parts, place = [], 0
    while True:
        match = _PART.match(path, place)
        if match is None:
            raise problem(f"no path of an object: {path!r}; e.g. my_table, db.my_table, `odd name`")
        quoted, plain, end = match.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        place = match.end()
        if not end:
            return parts


def quoted(name: str) -> str:
    """A name in backticks."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


@total_ordering
class ObjectPath:
    """A database and the name of an object in it.

    >>> ObjectPath("shop", "orders").get_full_name()
    'shop.orders'
    """

    def __init__(self, database_name: str | None = None, object_name: str | None = None) -> None:
        if not database_name or not object_name:
            raise ValueError(f"a path has a database and a name, not {database_name!r} and {object_name!r}")
        self._database = database_name
        self._object = object_name

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """:raises ValueError: not of the form database.name"""
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ValueError(f"a path is database.name, not {full_name!r}")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """The name of the database."""
        return self._database

    def get_object_name(self) -> str:
        """The name of the object in the database."""
        return self._object

    def get_full_name(self) -> str:
        """The name of the database and the name of the object, with a dot between them."""
        return f"{self._database}.{self._object}"

    def compare_to(self, other: ObjectPath) -> int:
        """Less than 0, 0, greater than 0."""
        return (self > other) - (self < other)

    def __str__(self) -> str:
        return self.get_full_name()

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self.get_full_name() == other.get_full_name()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath):
            return NotImplemented
        return self.get_full_name() < other.get_full_name()

    def __hash__(self) -> int:
        return hash((self._database, self._object))


class ObjectIdentifier:
    """Catalog, database and name of an object.

    >>> ObjectIdentifier.of("default_catalog", "shop", "orders").as_summary_string()
    'default_catalog.shop.orders'
    """

    UNKNOWN = "<UNKNOWN>"

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._parts = (catalog_name, database_name, object_name)

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The full name of an object."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The name of the catalog."""
        return self._parts[0]

    def get_database_name(self) -> str:
        """The name of the database."""
        return self._parts[1]

    def get_object_name(self) -> str:
        """The name of the object in the database."""
        return self._parts[2]

    def to_object_path(self) -> ObjectPath:
        """The name without the catalog."""
        return ObjectPath(self._parts[1], self._parts[2])

    def to_list(self) -> list[str]:
        """The three names."""
        return list(self._parts)

    def as_serializable_string(self) -> str:
        """In backticks, for SQL."""
        return ".".join(map(quoted, self._parts))

    def as_summary_string(self) -> str:
        """The three names, with dots between."""
        return ".".join(self._parts)

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


# Objects

_O = TypeVar("_O", bound="_CatalogObject")


class _CatalogObject:
    """An object of a catalog, with a comment. Two objects are equal if all their attributes are."""

    def __init__(self, comment: str | None) -> None:
        self._comment = comment

    def copy(self: _O) -> _O:
        """Another object that says the same."""
        return copy.deepcopy(self)

    def get_comment(self) -> str:
        """What is said about it."""
        return self._comment or ""

    def get_description(self) -> str | None:
        """The comment; None: there is none."""
        return self._comment

    def get_detailed_description(self) -> str | None:
        """The comment; None: there is none."""
        return self._comment

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


class CatalogDatabase(_CatalogObject):
    """A database: properties and a comment.

    >>> CatalogDatabase.create_instance({"owner": "Ann"}, "of examples").get_properties()
    {'owner': 'Ann'}
    """

    def __init__(self, properties: dict[str, str], comment: str | None = None) -> None:
        super().__init__(comment)
        self._properties = dict(properties)

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogDatabase:
        """A database with properties and a comment."""
        return CatalogDatabase(properties, comment)

    def get_properties(self) -> dict[str, str]:
        """The properties."""
        return self._properties


class CatalogBaseTable(_CatalogObject):
    """A table or view. ``original_query`` and ``expanded_query`` are those of a view.

    >>> schema = Schema.new_builder().column("n", "INT").build()
    >>> CatalogBaseTable.create_table(schema, [], {"connector": "print"}).get_options()
    {'connector': 'print'}
    """

    def __init__(
        self,
        schema: Schema,
        options: dict[str, str],
        partition_keys: tuple[str, ...] = (),
        comment: str | None = None,
        original_query: str | None = None,
        expanded_query: str | None = None,
        distribution: DeclaredDistribution | None = None,
    ) -> None:
        super().__init__(comment)
        self._schema = schema
        self._distribution = distribution
        self._options = dict(options)
        self._partition_keys = tuple(partition_keys)
        self._original_query = original_query
        self._expanded_query = expanded_query
        self._plan: Rel | None = None
        """the plan of a ``Table`` that was registered as a temporary view; None for all other tables and views"""

    @staticmethod
    def create_table(
        schema: TableSchema | Schema,
        partition_keys: list[str] = [],  # noqa: B006 - PyFlink's signature, never changed
        properties: dict[str, str] = {},  # noqa: B006
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A table with columns and options."""
        return CatalogBaseTable(_schema(schema), properties, tuple(partition_keys), comment)

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema | Schema,
        properties: dict[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A view: its query as written, and with full names."""
        return CatalogBaseTable(_schema(schema), properties, (), comment, original_query, expanded_query)

    @staticmethod
    def of_plan(plan: Rel, declared: Schema | None = None) -> CatalogBaseTable:
        """A view of a ``Table``: it lives as long as the session.

        :param declared: the columns of one that is only read.
        """
        fields = Schema.new_builder().from_fields(plan.names, [column.type for column in plan.schema]).build()
        schema = declared or fields
        view = CatalogBaseTable(schema, {}, (), None, "", "")
        view._plan = plan
        return view

    @property
    def is_view(self) -> bool:
        """Whether it is a view."""
        return self._expanded_query is not None

    @property
    def plan(self) -> Rel | None:
        """The plan of a view that was made of a ``Table``; None: it was made of SQL."""
        return self._plan

    @property
    def original_query(self) -> str:
        """The query of a view, as it was written."""
        return self._original_query or ""

    @property
    def expanded_query(self) -> str:
        """The query of a view, with full names."""
        return self._expanded_query or ""

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """The columns by which it is partitioned."""
        return self._partition_keys

    @property
    def distribution(self) -> DeclaredDistribution | None:
        """How rows are spread over buckets; None: nothing is said."""
        return self._distribution

    def get_options(self) -> dict[str, str]:
        """The options, ``connector`` among them."""
        return self._options

    def get_unresolved_schema(self) -> Schema:
        """The columns as they were declared."""
        return self._schema

    def get_schema(self) -> TableSchema:
        """Names and types of the columns that have types."""
        columns = [column for column in self._schema.columns if column.type is not None]
        return TableSchema([column.name for column in columns], [column.type for column in columns if column.type])


def _schema(given: TableSchema | Schema) -> Schema:
    if isinstance(given, Schema):
        return given
    return Schema.new_builder().from_fields(given.get_field_names(), given.get_field_data_types()).build()


class CatalogPartition(_CatalogObject):
    """A partition: properties and a comment.

    >>> CatalogPartition.create_instance({"rows": "5"}, "one day").get_properties()
    {'rows': '5'}
    """

    def __init__(self, properties: dict[str, str], comment: str | None = None) -> None:
        super().__init__(comment)
        self._properties = dict(properties)

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogPartition:
        """A partition with properties and a comment."""
        return CatalogPartition(properties, comment)

    def get_properties(self) -> dict[str, str]:
        """The properties."""
        return self._properties


class CatalogFunction(_CatalogObject, HasOlderNames):
    """A function: ``module.name`` of a Python function.

    >>> CatalogFunction.create_instance("my_module.my_function", "Python").get_class_name()
    'my_module.my_function'
    """

    def __init__(self, class_name: str, function_language: str = "Python", comment: str | None = None) -> None:
        super().__init__(comment)
        self._class_name = class_name
        self._language = function_language
        self._options: dict[str, str] = {}
        self._function: Any = None
        """the wrapper of a function that the program made, which lasts as long as the session; None: it is named by
        ``class_name``"""

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """A function by ``module.name``."""
        return CatalogFunction(class_name, function_language)

    @staticmethod
    def of_function(function: Any) -> CatalogFunction:
        """A function that is there already: the wrapper that ``udf`` and its like give."""
        made = CatalogFunction(function.name)
        made._function = function
        return made

    @property
    def function(self) -> Any:
        """The function, if it was given as an object."""
        return self._function

    def get_class_name(self) -> str:
        """``module.name`` of the function."""
        return self._class_name

    def get_function_language(self) -> str:
        """The language that it is written in."""
        return self._language

    def get_options(self) -> dict[str, str]:
        """The options that were given with it."""
        return self._options


class CatalogModel(_CatalogObject):
    """A model: input and output columns, options.

    >>> schema = Schema.new_builder().column("review", "STRING").build()
    >>> CatalogModel.create_model(schema, schema, {"provider": "openai"}, None).get_options()
    {'provider': 'openai'}
    """

    def __init__(
        self, input_schema: Schema | None, output_schema: Schema | None, options: dict[str, str], comment: str | None
    ) -> None:
        super().__init__(comment)
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._options = dict(options)

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: dict[str, str] = {},  # noqa: B006 - PyFlink's signature, never changed
        comment: str | None = None,
    ) -> CatalogModel:
        """A model with the columns that it takes and gives."""
        return CatalogModel(input_schema, output_schema, options, comment)

    def get_options(self) -> dict[str, str]:
        """The options, ``provider`` among them."""
        return self._options

    def get_input_schema(self) -> Schema | None:
        """The columns that the model takes."""
        return self._input_schema

    def get_output_schema(self) -> Schema | None:
        """The columns that the model gives."""
        return self._output_schema


class Procedure:
    """Something that a catalog can be asked to do. Subclass it.

    >>> class Hello(Procedure):
    ...     def call(self, name):
    ...         return f"hello {name}"
    >>> Hello().call("Ann")
    'hello Ann'
    """

    def call(self, *args: Any) -> Any:
        """What CALL gives: nothing, a value, or a list of rows."""
        raise NotImplementedError(f"{type(self).__name__} must implement call()")


class CatalogPartitionSpec:
    """Columns with their values: which partition is meant, or which of them.

    >>> CatalogPartitionSpec({"day": "2026-03-05"}).get_partition_spec()
    {'day': '2026-03-05'}
    """

    def __init__(self, partition_spec: dict[str, str]) -> None:
        self._spec = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        """The values of the columns."""
        return self._spec

    def __str__(self) -> str:
        return f"CatalogPartitionSpec{{{self._spec}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._spec == other._spec

    def __hash__(self) -> int:
        return hash(frozenset(self._spec.items()))


class CatalogTableStatistics:
    """What is known about the rows of a table; -1 for unknown.

    >>> CatalogTableStatistics(5).get_row_count()
    5
    """

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        self._row_count = -1 if row_count is None else row_count
        self._field_count = -1 if field_count is None else field_count
        self._total_size = -1 if total_size is None else total_size
        self._raw_data_size = -1 if raw_data_size is None else raw_data_size
        self._properties = dict(properties or {})

    def get_row_count(self) -> int:
        """How many rows there are."""
        return self._row_count

    def get_field_count(self) -> int:
        """The number of files."""
        return self._field_count

    def get_total_size(self) -> int:
        """How many bytes there are."""
        return self._total_size

    def get_raw_data_size(self) -> int:
        """How many bytes there are uncompressed."""
        return self._raw_data_size

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return self._properties

    def copy(self) -> CatalogTableStatistics:
        """Another object that says the same."""
        return copy.deepcopy(self)


class CatalogColumnStatistics:
    """What is known about columns, by name.

    >>> CatalogColumnStatistics({"amount": {"nulls": 0}}).get_column_statistics_data()
    {'amount': {'nulls': 0}}
    """

    def __init__(
        self, column_statistics_data: dict[str, Any] | None = None, properties: dict[str, str] | None = None
    ) -> None:
        self._data = dict(column_statistics_data or {})
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        """What is known, by column."""
        return self._data

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return self._properties

    def copy(self) -> CatalogColumnStatistics:
        """Another object that says the same."""
        return copy.deepcopy(self)


class CatalogDescriptor:
    """A catalog as CREATE CATALOG would describe it.

    >>> CatalogDescriptor.of("mine", Configuration.from_dict({"type": "generic_in_memory"})).name
    'mine'
    """

    def __init__(self, catalog_name: str, configuration: Configuration, comment: str | None = None) -> None:
        self._name = catalog_name
        self._configuration = configuration
        self._comment = comment

    @staticmethod
    def of(catalog_name: str, configuration: Configuration, comment: str | None = None) -> CatalogDescriptor:
        """A catalog with its options and a comment."""
        return CatalogDescriptor(catalog_name, configuration, comment)

    @property
    def name(self) -> str:
        """The name of the catalog."""
        return self._name

    @property
    def options(self) -> dict[str, str]:
        """The options of the catalog.

        >>> CatalogDescriptor.of("mine", Configuration.from_dict({"type": "generic_in_memory"})).options
        {'type': 'generic_in_memory'}
        """
        return self._configuration.to_dict()

    @property
    def comment(self) -> str | None:
        """What is said about the catalog."""
        return self._comment
