"""The driver on a cluster's own Spark: what it has to say so that master and workers let it in."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from millrace.cluster.places.durable import write_file
from millrace.cluster.standalone.layout import Layout, folder_of
from millrace.spark.standalone.daemons import CRYPTO, SECRET, as_file, driver_properties

SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
LOCAL_ADDRESS = "SPARK_LOCAL_IP"
MASTER = "millrace.master"


def driver_of(layout: Layout, cluster: str, configuration: Mapping[str, str]) -> dict[str, str]:
    """The configuration of the driver; the environment of this process, which Spark's JVM will have, gets the rest.

    The secret goes through a file that only this user reads: PySpark would show a setting on a command line.
    """
    file = os.path.join(folder_of(cluster), "driver.conf")
    write_file(file, as_file(driver_properties(layout.secret, layout.encrypted)).encode())
    os.environ[SUBMIT_ARGUMENTS] = f"--properties-file {shlex.quote(file)} --load-spark-defaults pyspark-shell"
    found = {key: value for key, value in configuration.items() if key not in (SECRET, CRYPTO, "spark.authenticate")}
    found[MASTER] = layout.url
    if layout.master.here:
        os.environ[LOCAL_ADDRESS] = layout.address
        found.setdefault("spark.driver.host", layout.address)
        found.setdefault("spark.driver.bindAddress", layout.address)
    return found
