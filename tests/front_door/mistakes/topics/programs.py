"""Mistakes in programs of the DataStream API that show before the job runs."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import program

TITLE = "Programs: before the job runs"

MISTAKES = (
    program(
        "execute() was forgotten",
        "env.from_collection([1, 2]).map(lambda x: x + 1).print()\n",
        ("execute()",),
        "Calls of the DataStream API only describe the job; nothing runs before `execute()`.",
        "End the program with `env.execute()`.",
        exit_code=0,
    ),
    program(
        "Nothing to execute",
        "numbers = env.from_collection([1, 2]).map(abs)\nenv.execute()\nenv.execute()  # <-\n",
        ("No operators",),
        "`execute()` takes what was described since the last one.",
        "Describe streams before each `execute()`, and call it once for all of them.",
    ),
    program(
        "A method that there is not",
        "env.from_colection([1])  # <-\n",
        ("from_colection", "from_collection"),
        "The name is misspelt.",
        "Use the name that the message proposes.",
    ),
    program(
        "A window on a stream that has no keys",
        "env.from_collection([1]).window(TumblingEventTimeWindows.of(Duration.of_seconds(5)))  # <-\n",
        ("window", "key_by"),
        "`window()` is for keyed streams.",
        "Call `key_by()` before it, or `window_all()` for one window over all elements.",
    ),
    program(
        "A class in place of an object",
        "class Double(MapFunction):\n    def map(self, value):\n        return 2 * value\n\n"
        "env.from_collection([1]).map(Double)  # <-\n",
        ("Double()",),
        "The function is an object of the class.",
        "Write `Double()`.",
    ),
    program(
        "A lambda in place of a ProcessFunction",
        "env.from_collection([1]).process(lambda value, ctx: [value])  # <-\n",
        ("ProcessFunction",),
        "`process()` calls methods of an object.",
        "Write a subclass of `ProcessFunction`, or use `map()` or `flat_map()`.",
    ),
    program(
        "A Python type in place of a declared type",
        "env.from_collection([1]).map(str, str)  # <-\n",
        ("Types.",),
        "Types of streams are those of `Types`.",
        "Write `Types.STRING()`.",
    ),
    program(
        "Streams of two types in a union",
        "numbers = env.from_collection([1], Types.INT())\n"
        "words = env.from_collection(['a'], Types.STRING())\n"
        "numbers.union(words).print()  # <-\n",
        ("Integer", "String"),
        "All streams of a union have one type.",
        "Map them to one type before, or `connect()` two streams of different types.",
    ),
    program(
        "A stream of another environment",
        "other = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1]).union(other.from_collection([2]))  # <-\n",
        ("environments",),
        "Each environment describes a job of its own.",
        "Make all streams of a job with the same environment.",
    ),
    program(
        "Fields of a stream without a declared type",
        "env.from_collection([('a', 1)]).map(lambda pair: pair).project(0)  # <-\n",
        ("project()", "declared"),
        "Without `output_type` the results of a function are Python objects without fields.",
        "Declare it: `map(f, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))`.",
    ),
    program(
        "A parallelism of 0",
        "env.set_parallelism(0)  # <-\n",
        ("0",),
        "A job has one subtask of each operator at least.",
        "Give a number from 1 on, or leave the call out.",
    ),
    program(
        "A parallelism above the maximum",
        "env.set_max_parallelism(4)\n"
        "env.from_collection([1]).map(abs).set_parallelism(8).print()  # <-\n"
        "env.execute()\n",
        ("8", "4", "set_max_parallelism"),
        "Keys are divided into as many groups as the maximum parallelism; a subtask without a group would be idle.",
        "Lower the parallelism, or raise the maximum. A job with state keeps its maximum for life.",
    ),
    program(
        "One uid for two operators",
        "numbers = env.from_collection([1]).map(abs).uid('mine')\n"
        "numbers.map(abs).uid('mine').print()  # <-\n"
        "env.execute()\n",
        ("'mine'", "unique"),
        "State finds its operator by the uid.",
        "Give each operator a uid of its own.",
    ),
    program(
        "A source that never ends in batch mode",
        "env.set_runtime_mode(RuntimeExecutionMode.BATCH)\n"
        "t_env.execute_sql(\"CREATE TABLE clicks (id INT) WITH ('connector' = 'datagen')\")\n"
        "t_env.to_data_stream(t_env.from_path('clicks')).print()  # <-\n"
        "env.execute()\n",
        ("BATCH", "number-of-rows"),
        "A job of batch mode ends with its input.",
        "Bound the source (`'number-of-rows' = '100'`), or run in streaming mode.",
    ),
    program(
        "A lock in a lambda",
        "lock = threading.Lock()\n"
        "def guarded(value):\n    with lock:\n        return value\n\n"
        "env.from_collection([1]).map(guarded).print()  # <-\n"
        "env.execute()\n",
        ("lock", "open()"),
        "Functions travel to the workers; locks, sockets, open files and Spark sessions can't.",
        "Make such an object in `open()` of a function class.",
    ),
    program(
        "A socket in a function object",
        "import socket\n"
        "class Ask(MapFunction):\n    def __init__(self):\n        self.connection = socket.socket()\n\n"
        "    def map(self, value):\n        return value\n\n"
        "env.from_collection([1]).map(Ask()).print()  # <-\n"
        "env.execute()\n",
        ("Ask.connection", "open()"),
        "What `__init__` makes travels to the workers with the function.",
        "Make the connection in `open()`, which runs where the function runs.",
    ),
    program(
        "A file that is not there",
        "env.read_text_file('clicks.txt').print()  # <-\nenv.execute()\n",
        ("clicks.txt",),
        "Relative paths count from the folder in which the command was typed.",
        "Look at the path; give an absolute one.",
    ),
    program(
        "A class of Java's",
        "from pyflink.java_gateway import get_gateway\n"
        "format = get_gateway().jvm.org.apache.flink.api.java.io.TextInputFormat(None)  # <-\n",
        ("TextInputFormat",),
        "No Java of Flink's is here: what a class of its does must have a form in Python.",
        "Use the Python API that does the same: docs/migration/java.md.",
        options=("--pyflink",),
    ),
    program(
        "A module that is not installed",
        "import pandsa  # <-\n",
        ("pandsa",),
        "",
        "",
    ),
    program(
        "An error of Python's syntax",
        "numbers = env.from_collection([1, 2)  # <-\n",
        ("job.py", "line 1"),
        "",
        "",
    ),
    program(
        "A checkpoint folder that can't be written",
        "env.enable_checkpointing(1000)\n"
        "env.get_checkpoint_config().set_checkpoint_storage_dir('taken/checkpoints')\n"
        "env.from_collection([1]).map(abs).print()\n"
        "env.execute()\n",
        ("taken",),
        "",
        "",
        files={"taken": "a file\n"},
    ),
    program(
        "A key of the configuration that is misspelt",
        "env.get_config()\n"
        "from millrace.common import Configuration\n"
        "settings = Configuration()\n"
        "settings.set_string('execution.checkpointing.intervall', '10 s')\n"
        "env.configure(settings)\n"
        "env.from_collection([1]).map(abs).print()\n"
        "env.execute()\n",
        ("execution.checkpointing.intervall", "'execution.checkpointing.interval'"),
        "",
        "",
        exit_code=0,
    ),
)
