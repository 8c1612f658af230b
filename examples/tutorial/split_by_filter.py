"""P5: one stream becomes three by three filters. Simple, but each click passes all three of them."""

from __future__ import annotations

from fixture import clicks

from millrace.datastream import DataStream, StreamExecutionEnvironment


def split(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Label -> its stream."""
    stream = clicks(env)
    return {
        "Mary pv": stream.filter(lambda click: click.user == "Mary"),
        "Bob pv": stream.filter(lambda click: click.user == "Bob"),
        "else pv": stream.filter(lambda click: click.user not in ("Mary", "Bob")),
    }


def build(env: StreamExecutionEnvironment) -> DataStream:
    """(label, user) of every click that came out somewhere."""
    mary, bob, others = [
        stream.map(lambda click, label=label: (label, click.user)) for label, stream in split(env).items()
    ]
    return mary.union(bob, others)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for label, stream in split(env).items():
        stream.print(label)
    env.execute("split by filter")


if __name__ == "__main__":
    main()
