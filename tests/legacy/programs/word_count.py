"""The book's P12, as of Flink 1.11: words of a file counted, in batch mode, into another file."""

import sys

from pyflink.table import BatchTableEnvironment, EnvironmentSettings

source, sink = sys.argv[1:]
settings = EnvironmentSettings.new_instance().use_blink_planner().in_batch_mode().build()
t_env = BatchTableEnvironment.create(environment_settings=settings)
t_env.set_parallelism(1)
files = "'connector'='filesystem','format'='csv','path'="
t_env.execute_sql(f"CREATE TABLE mySource (word STRING) WITH ({files}'{source}')")
t_env.execute_sql(f"CREATE TABLE mySink (word STRING, `count` BIGINT) WITH ({files}'{sink}')")
t_env.from_path("mySource").group_by("word").select("word, count(1)").insert_into("mySink")
t_env.execute("1-word_count")
