"""Mistakes in programs of the DataStream API that show before the job runs."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import program

TITLE = "Programs: before the job runs"

MISTAKES = (
    program(
        "execute() was forgotten",
        "env.from_collection([1, 2]).map(lambda x: x + 1).print()  # <-\n",
        ("never ran", "execute()"),
        "Calls of the DataStream API only describe the job; nothing runs before `execute()`.",
        "End the program with `env.execute()`.",
    ),
    program(
        "Nothing to execute",
        "env.from_collection([1, 2]).print()\nenv.execute()\nenv.execute()  # <-\n",
        ("No operators",),
        "`execute()` takes what was described since the last one.",
        "Describe streams before each `execute()`, and call it once for all of them.",
    ),
    program(
        "A method that there is not",
        "env.from_colection([1])  # <-\n",
        ("from_colection", "did you mean 'from_collection'"),
        "The name is misspelt.",
        "Use the name that is proposed.",
    ),
    program(
        "A window on a stream without keys",
        "env.from_collection([1]).window(TumblingEventTimeWindows.of(Time.seconds(5)))  # <-\n",
        ("key_by()", "window_all()"),
        "`window()`, `reduce()`, `sum()` and the like work key by key.",
        "Call `key_by()` before, or `window_all()` for one window over all elements.",
    ),
    program(
        "A class in place of an object",
        "class Double(MapFunction):\n    def map(self, value):\n        return 2 * value\n\n"
        "env.from_collection([1]).map(Double)  # <-\n",
        ("did you mean Double()?",),
        "The function is an object of the class.",
        "Write `Double()`.",
    ),
    program(
        "A lambda in place of a ProcessFunction",
        "env.from_collection([1]).process(lambda value, ctx: [value])  # <-\n",
        ("takes a ProcessFunction", "flat_map()"),
        "`process()` calls methods of an object: `open()`, `process_element()`, `on_timer()`.",
        "Write a subclass of `ProcessFunction`, or use `map()`, `filter()` or `flat_map()`.",
    ),
    program(
        "A Python type in place of a declared type",
        "env.from_collection([1]).map(str, str)  # <-\n",
        ("Types.INT()",),
        "Types of streams are those of `Types`.",
        "Write `Types.STRING()`.",
    ),
    program(
        "A generator in map()",
        "def twice(value):\n    yield value\n    yield value\n\n"
        "env.from_collection([1]).map(twice).print()  # <-\nenv.execute()\n",
        ("generator", "flat_map()"),
        "`map()` sends on what the function returns, here a generator.",
        "Use `flat_map()`, which sends on what is yielded.",
    ),
    program(
        "Streams of two types in a union",
        "numbers = env.from_collection([1], Types.INT())\n"
        "words = env.from_collection(['a'], Types.STRING())\n"
        "numbers.union(words).print()  # <-\n",
        ("Integer and String", "connect()"),
        "All streams of a union have one type.",
        "Map them to one type before, or `connect()` them and handle each in its own method.",
    ),
    program(
        "A stream of another environment",
        "other = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1]).union(other.from_collection([2]))  # <-\n",
        ("different environments", "same one"),
        "`get_execution_environment()` makes a new environment, and each describes a job of its own.",
        "Make all streams of a job with the same environment.",
    ),
    program(
        "Fields of a stream without a declared type",
        "env.from_collection([('a', 1)]).map(lambda pair: pair).project(0)  # <-\n",
        ("project()", "Types.TUPLE"),
        "Without `output_type` results of a function are Python objects, of which no fields are known.",
        "Declare it: `map(f, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))`.",
    ),
    program(
        "A parallelism of 0",
        "env.set_parallelism(0)  # <-\n",
        ("at least 1", "got 0"),
        "An operator has one subtask at least.",
        "Give a number from 1 on, or leave the call out.",
    ),
    program(
        "A parallelism above the maximum",
        "env.set_max_parallelism(4)\n"
        "env.from_collection([1]).map(abs).set_parallelism(8).print()  # <-\n"
        "env.execute()\n",
        ("parallelism 8", "maximum parallelism 4", "set_max_parallelism()"),
        "Keys are divided into as many groups as the maximum parallelism says; a subtask without one would be idle.",
        "Lower the parallelism, or raise the maximum. A job with state keeps its maximum for life.",
    ),
    program(
        "One uid for two operators",
        "numbers = env.from_collection([1]).map(abs).uid('mine')\n"
        "numbers.map(abs).uid('mine').print()  # <-\n"
        "env.execute()\n",
        ("uid 'mine'", "unique"),
        "State finds its operator by the uid.",
        "Give each operator a uid of its own.",
    ),
    program(
        "A source that never ends in batch mode",
        "env.set_runtime_mode(RuntimeExecutionMode.BATCH)\n"
        "t_env = StreamTableEnvironment.create(env)\n"
        "t_env.execute_sql(\"CREATE TABLE clicks (id INT) WITH ('connector' = 'datagen')\")\n"
        "t_env.to_data_stream(t_env.from_path('clicks')).print()  # <-\n"
        "env.execute()\n",
        ("clicks)' at job.py:4 never ends", "AUTOMATIC"),
        "A job of batch mode ends with its input.",
        "Bound the source (`'number-of-rows' = '100'`), or run in streaming mode.",
    ),
    program(
        "The mode set behind the table environment",
        "env.set_runtime_mode(RuntimeExecutionMode.BATCH)\nt_env.to_data_stream(t_env.from_elements([(1,)]))  # <-\n",
        ("BATCH", "StreamTableEnvironment.create(env)"),
        "A table environment is made for a mode, here that of streaming.",
        "Set the mode first, then make the table environment.",
    ),
    program(
        "A lock in a function",
        "lock = threading.Lock()\n"
        "def guarded(value):\n    with lock:\n        return value\n\n"
        "env.from_collection([1]).map(guarded).print()  # <-\n"
        "env.execute()\n",
        ("the global lock", "open()"),
        "Functions travel to the workers, with what they name; locks, sockets, open files and Spark sessions can't.",
        "Make such an object in `open()` of a function class, where it is used.",
    ),
    program(
        "A connection made in __init__",
        "import socket\n"
        "class Ask(MapFunction):\n    def __init__(self):\n        self.connection = socket.socket()\n\n"
        "    def map(self, value):\n        return value\n\n"
        "env.from_collection([1]).map(Ask()).print()  # <-\n"
        "env.execute()\n",
        ("Ask.connection", "open()"),
        "What `__init__` makes travels to the workers with the function.",
        "Make the connection in `open()`, which is called where the function runs.",
    ),
    program(
        "A file that is not there",
        "env.read_text_file('clicks.txt').print()  # <-\nenv.execute()\n",
        ("no file or folder clicks.txt",),
        "Relative paths count from the folder in which the command was typed.",
        "Look at the path, or give an absolute one.",
    ),
    program(
        "A class of Java's",
        "from pyflink.java_gateway import get_gateway\n"
        "get_gateway().jvm.org.apache.flink.api.java.io.TextInputFormat(None)  # <-\n",
        ("TextInputFormat", "Python API"),
        "No Java of Flink's is here: classes that Flink has in Java only do not exist.",
        "Use what the Python API has for it; [Coming from Java](migration/java.md) says where it is.",
        options=("--pyflink",),
    ),
    program(
        "A module that is not installed",
        "import pandsa  # <-\n",
        ("No module named 'pandsa'",),
        "Python that runs the program has no such module: it is misspelt, or in another virtual environment.",
        "Install it where `millrace` is installed; for workers on other machines see "
        "[dependencies](guide/dependencies.md).",
    ),
    program(
        "An error of Python's syntax",
        "numbers = env.from_collection([1, 2)  # <-\n",
        ("SyntaxError",),
        "Python cannot read the program.",
        "Mend the line; the mistake is often one of brackets in the line before.",
    ),
    program(
        "A key of the configuration that is misspelt",
        "from millrace.common import Configuration\n"
        "settings = Configuration()\n"
        "settings.set_string('execution.checkpointing.intervall', '10 s')\n"
        "env.configure(settings)\n"
        "env.from_collection([1]).map(abs).print()\n"
        "env.execute()\n",
        ("execution.checkpointing.intervall", "did you mean 'execution.checkpointing.interval'"),
        "The key begins like one of Flink's, and there is none of this name. It has no effect.",
        "Use the key that is proposed; [Configuration](configuration.md) has all of them.",
        exit_code=0,
    ),
    program(
        "A value that a key cannot have",
        "from millrace.common import Configuration\n"
        "settings = Configuration()\n"
        "settings.set_string('execution.checkpointing.interval', 'often')\n"
        "env.configure(settings)  # <-\n",
        ("'often'", "execution.checkpointing.interval", "span of time"),
        "The key is known, and its value is of another type.",
        "Write the value as the message shows.",
    ),
)
