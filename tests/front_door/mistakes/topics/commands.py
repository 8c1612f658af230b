"""Mistakes on command lines."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import command

TITLE = "Command lines"


def c(title, text, says=(), **more):
    return command(title, text, says, "", "", **{"exit_code": 2, **more})


JOB = {"job.py": "print('hello')\n"}
MISTAKES = (
    c("A command that there is not", "millrace rnu job.py", ("run",), exit_code=1),
    c("sub", "millrace cluster strat", ("start",)),
    c("An option that there is not", "millrace run --parallelsm 2 job.py", ("--parallelism",), files=JOB),
    c("java option", "millrace run -c com.example.Main job.jar", ("Python",), files={"job.jar": ""}),
    c("A file that is not there", "millrace run jbo.py", ("jbo.py", "'job.py'"), files=JOB),
    c("no program", "millrace run", ("-pym",)),
    c("A folder in place of a file", "millrace run .", ("folder",), files=JOB),
    c("A jar", "millrace run job.jar", ("Python",), files={"job.jar": ""}),
    c("module", "millrace run -pym jbo", ("jbo",), files=JOB, exit_code=1),
    c("A parallelism that is no number", "millrace run -p two job.py", ("two",), files=JOB),
    c("A parallelism of 0", "millrace run -p 0 job.py", ("0",), files=JOB),
    c("-D without a value", "millrace run -D parallelism.default job.py", ("key=value",), files=JOB),
    c("-D typo", "millrace run -D execution.checkpointing.intervall=10s job.py", ("'execution.checkpointing.interval'",), files=JOB, exit_code=0),
    c("-D wrong value", "millrace run -D execution.checkpointing.interval=soon job.py", ("soon", "execution.checkpointing.interval"), files=JOB),
    c("-D refused", "millrace run -D security.ssl.rest.enabled=true job.py", ("security.ssl.rest.enabled",), files=JOB),
    c("A folder of configuration that is not there", "millrace run --config-dir cnf job.py", ("cnf",), files=JOB),
    c("config yaml broken", "millrace run --config-dir . job.py", ("config.yaml", "line 2"), files={**JOB, "config.yaml": "a:\n  - b\n c: d\n"}),
    c("requirements missing", "millrace run -pyreq reqs.txt job.py", ("reqs.txt",), files=JOB, exit_code=1),
    c("pyfs missing", "millrace run -pyfs lib.zip job.py", ("lib.zip",), files=JOB),
    c("pyarch missing", "millrace run -pyarch data.zip job.py", ("data.zip",), files=JOB),
    c("pyexec missing", "millrace run -pyexec /no/python job.py", ("/no/python",), files=JOB),
    c("A job that there is not", "millrace cancel 0123456789abcdef0123456789abcdef", ("0123456789abcdef0123456789abcdef",), exit_code=1),
    c("job id no id", "millrace cancel abc", ("abc",), exit_code=1),
    c("stop none", "millrace stop", ("job",), exit_code=1),
    c("savepoint none", "millrace savepoint", ("job",), exit_code=1),
    c("A cluster that does not run", "millrace run -d job.py", ("millrace cluster start",), files=JOB, exit_code=1),
    c("target", "millrace run -t remote job.py", ("millrace cluster start",), files=JOB, exit_code=1),
    c("target local typo", "millrace run -t yarn-per-job job.py", ("yarn",), files=JOB, exit_code=2),
    c("jobmanager not answering", "millrace list -m localhost:1", ("localhost:1",), exit_code=1),
    c("cluster stop", "millrace cluster stop", ("no cluster",), exit_code=1),
    c("session stop", "millrace session stop", ("session",), exit_code=1),
    c("A script that is not there", "millrace sql -f scritp.sql", ("scritp.sql",)),
    c("sql gateway not there", "millrace sql gateway -e http://localhost:1 -f s.sql", ("localhost:1",), exit_code=1, files={"s.sql": "SHOW TABLES;"}),
    c("both", "millrace sql -f s.sql -e 'SHOW TABLES'", ("-f", "-e"), files={"s.sql": "SHOW TABLES;"}),
    c("sql semicolon-less", "millrace sql -e 'SHOW TABLE'", ("TABLES",), exit_code=1),
    c("A savepoint that is not there", "millrace state info sp-1", ("sp-1",), exit_code=1),
    c("no Java", "millrace run job.py", ("Java 17",), files={"job.py": "from millrace.datastream import StreamExecutionEnvironment as S\nfrom millrace.spark.java import require_java\nrequire_java()\n"}, variables={"JAVA_HOME": "/no/java"}),
    c("new", "millrace new .", (), files=JOB),
    c("cdc", "millrace cdc pipe.yaml", ("pipe.yaml",), exit_code=1),
    c("quiet verbose", "millrace run --quiet --verbose job.py", ("contradict",), files=JOB),
)
