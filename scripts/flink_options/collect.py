"""Write src/millrace/configuration/flink_keys.tsv: the options that versions of Flink declare. Asks the jars.

Each argument is a version and a folder with the jars of PyPI's apache-flink-libraries of this version (lib/ and opt/),
the newest first: ``collect.py 2.3=x/pyflink 1.20=y 1.13=z``. Needs javac. What older versions declare is kept only if
newer ones don't know it under any name.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).parent
OUTPUT = HERE.parents[1] / "src" / "millrace" / "configuration" / "flink_keys.tsv"
# Options of connectors, formats and hints, which stand in WITH, and what Flink's classes tell each other.
OTHERS = re.compile(
    r"Format|FileSystemConnector|DataGen|LookupOptions|LookupJoinHint|AsyncSink|PrintConn|StreamConfig|Internal"
    r"|\.descriptors\.|\.sinks\.|\.sources\.|\.source\.|PythonDynamic|CommonCatalog|CommonModule|GenericInMemory"
    r"|CommonSecret|hive\.|elasticsearch|jdbc|hbase|kafka|kinesis|cassandra|filesystem\.|Hadoop|DynamicTable"
    r"|ApplicationConfiguration|\.formats\.|\.gpu\."
)
# Metric reporters have these under a prefix.
NOT_ALONE = {
    "async",
    "enabled",
    "timeout",
    "interval",
    "factory.class",
    "filter.includes",
    "filter.excludes",
    "class",
    "max-concurrent-operations",
    "output-mode",
}
INTERNAL = ("$", "<", "hidden.", "python.internal.")
OF_A_PART = ("scope.", "discovery-script.", "partition.fields.", "sink.committer")
TYPES = {"Integer": "int", "MemorySize": "memory"}
NANOS = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


@dataclass(frozen=True)
class Fact:
    """An option as its version declares it."""

    key: str
    type: str
    default: str
    older: tuple[str, ...]
    version: str

    def line(self) -> str:
        return "\t".join((self.key, self.type, self.default, " ".join(self.older), self.version)).rstrip()


def declared(version: str, folder: Path) -> Iterator[Fact]:
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["javac", "-d", directory, str(HERE / "FlinkOptions.java")], check=True)
        jars = [str(jar) for jar in sorted(folder.rglob("*.jar"))]
        for loader in (jar for jar in jars if "table-planner-loader" in jar):
            with zipfile.ZipFile(loader) as archive:
                jars.append(archive.extract("flink-table-planner.jar", directory))
        classes = [jar for jar in jars if "/log4j-api" in jar]
        asked = [jar for jar in jars if "log4j" not in jar and "scala_" not in jar]
        command = ["java", "-cp", ":".join([directory, *classes]), "FlinkOptions", *asked]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        parts = line.split("\t")
        if len(parts) == 7 and not OTHERS.search(parts[6]) and is_key(parts[0]):
            key, type_, many, default, older, values, _ = parts
            yield Fact(key, as_type(type_, many, values), as_default(default, type_), tuple(older.split()), version)


def is_key(key: str) -> bool:
    return key not in NOT_ALONE and not key.startswith(INTERNAL + OF_A_PART) and ("." in key or "-" in key)


def as_type(type_: str, many: str, values: str) -> str:
    one = f"enum:{values}" if type_ == "Enum" else TYPES.get(type_, type_.lower())
    return f"list:{one}" if many else one


def as_default(text: str, type_: str) -> str:
    if type_ == "Duration" and (found := NANOS.fullmatch(text)):
        hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return span(round((hours * 60 + minutes) * 60_000 + seconds * 1000))
    if text.startswith("[") and text.endswith("]"):
        return ";".join(part.strip() for part in text[1:-1].split(",") if part.strip())
    if type_ == "Map" and text.startswith("{"):
        return text[1:-1].replace("=", ":").replace(", ", ",")
    return text


def span(millis: int) -> str:
    for unit, size in (("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if millis and millis % size == 0:
            return f"{millis // size} {unit}"
    return f"{millis} ms"


def not_in_jars() -> Iterator[Fact]:
    for line in (HERE / "more_keys.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            key, type_, version, *default = line.split(None, 3)
            yield Fact(key, type_, "".join(default), (), version)


def main() -> None:
    facts: dict[str, Fact] = {}
    names: set[str] = set()
    versions = [argument.partition("=") for argument in sys.argv[1:]]
    first, *others = (list(declared(version, Path(folder))) for version, _, folder in versions)
    for found in (first, list(not_in_jars()), *others):
        new = {}
        for fact in found:
            if (known := facts.get(fact.key)) is not None:
                # An older name that newer versions have forgotten.
                forgotten = tuple(name for name in fact.older if name not in names)
                facts[fact.key] = replace(known, older=known.older + forgotten)
                names |= set(forgotten)
            elif fact.key not in names:
                # The same option may be declared twice; what has a default or older names says more.
                new[fact.key] = max(fact, new.get(fact.key, fact), key=lambda each: (len(each.older), each.default))
        facts |= new
        names |= {name for fact in new.values() for name in (fact.key, *fact.older)}
    OUTPUT.write_text("".join(f"{facts[key].line()}\n" for key in sorted(facts)), "utf-8")


if __name__ == "__main__":
    main()
