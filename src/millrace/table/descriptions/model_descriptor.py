"""``ModelDescriptor``: a model as CREATE MODEL would describe it."""

from __future__ import annotations

from millrace.table.descriptions.descriptor_options import Described, OptionsBuilder, options_text
from millrace.table.descriptions.schema import Schema

__all__ = ["ModelDescriptor"]


class ModelDescriptor(Described):
    """A model: input and output columns, options, comment. Kept in catalogs; nothing computes with it.

        >>> descriptor = ModelDescriptor.for_provider("openai").option("task", "classification").build()
        >>> descriptor.get_options()
        {'provider': 'openai', 'task': 'classification'}
    """

    def __init__(
        self, options: dict[str, str], input_schema: Schema | None, output_schema: Schema | None, comment: str | None
    ) -> None:
        self._options = options
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._comment = comment

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """Begins a description; ``build()`` ends it."""
        return ModelDescriptor.Builder().option("provider", provider)

    def get_options(self) -> dict[str, str]:
        """The options, ``provider`` among them."""
        return dict(self._options)

    def get_input_schema(self) -> Schema | None:
        """The columns that the model takes."""
        return self._input_schema

    def get_output_schema(self) -> Schema | None:
        """The columns that the model gives."""
        return self._output_schema

    def get_comment(self) -> str | None:
        """What is said about the model."""
        return self._comment

    def __str__(self) -> str:
        parts = [f"{word}{schema}" for word, schema in (("INPUT", self._input_schema), ("OUTPUT", self._output_schema))]
        return "\n".join([*parts, f"WITH (\n{options_text(self._options)}\n)"])

    class Builder(OptionsBuilder):
        """Makes a descriptor."""

        def __init__(self) -> None:
            super().__init__()
            self._input_schema: Schema | None = None
            self._output_schema: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            self._input_schema = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            self._output_schema = output_schema
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            return ModelDescriptor(dict(self._options), self._input_schema, self._output_schema, self._comment)
