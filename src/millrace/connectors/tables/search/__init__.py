"""The table connectors ``opensearch`` and ``elasticsearch-7`` and ``-8``: indexes written, read and looked up."""
