"""``millrace --version``."""

from __future__ import annotations

import platform

import click

import millrace


def versions() -> str:
    """What a bug report should say, in one line."""
    return f"Millrace {millrace.__version__}, Python {platform.python_version()}, PySpark {_pyspark()}, {_java()}"


def _pyspark() -> str:
    from importlib import metadata

    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return "not found"


def _java() -> str:
    from millrace.spark.java import JavaNotFoundError, require_java

    try:
        java = require_java()
    except JavaNotFoundError:
        return "no Java 17 or newer found"
    return f"Java {java.major} ({java.executable})"


def show_versions(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the versions and end, if wanted."""
    if wanted:
        click.echo(versions())
        context.exit()
