"""Pipelines that copy whole databases, described in YAML as for Flink CDC: ``millrace cdc pipeline.yaml``."""
