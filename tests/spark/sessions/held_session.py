"""A program with a session of Millrace's that lasts until its standard input ends: ``FOLDER KEY=VALUE ...``.

It says what a stranger would have to find out: the name of the application, and what Spark writes about a block.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from millrace.spark.sessions.session import make_session
from millrace.spark.sessions.settings import SessionWishes
from millrace.spark.standalone_daemons import SECRET


def main() -> None:
    wishes = SessionWishes(2, dict(word.split("=", 1) for word in sys.argv[2:]))
    session = make_session(wishes)
    context: Any = session.sparkContext
    assert context.parallelize([1, 2, 3], 2).map(lambda n: n + 1).sum() == 9, "its processes talk to each other"
    context._jsc.broadcast("a word of the owner")
    with open(f"{sys.argv[1]}/shipped.txt", "w") as file:
        file.write("a file of the owner")
    context.addFile(file.name)
    said = {
        "application": context.applicationId,
        "java": context._gateway.proc.pid,
        "metadata": metadata(context).hex(),
        "secret": context.getConf().get(SECRET, ""),
        "page": context.uiWebUrl,
    }
    print(json.dumps(said), flush=True)
    sys.stdin.read()


def metadata(context: Any) -> bytes:
    """What goes with a block: how it is to be stored, and the class of its values."""
    jvm = context._jvm
    level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY_SER()
    tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("java.lang.Object"))
    serializer = jvm.org.apache.spark.serializer.JavaSerializer(context._jsc.getConf()).newInstance()
    try:
        both = jvm.org.apache.spark.network.netty.BlockReplicationMetadata(level, tag, jvm.scala.Option.empty(), False)
    except TypeError:  # there is no such class in older versions
        both = jvm.scala.Tuple2(level, tag)
    return bytes(serializer.serialize(both, tag).array())


if __name__ == "__main__":
    main()
