"""``millrace run``: its command line and its messages, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.cli.command_line import REFUSED
from millrace.cli.main import main

SHOW = """\
import sys
from millrace.datastream.settings import get_defaults
print(sys.argv, sys.path[0])
for key, value in sorted(get_defaults().to_dict().items()):
    print(key, "=", value)
"""


def call(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(SHOW)
    return path


def test_the_program_runs_as_python_would_run_it(program: Path) -> None:
    result = call("run", program, "--input", "x", "-p", "7", "--", "y")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{[str(program), '--input', 'x', '-p', '7', '--', 'y']} {program.parent}\n"
    assert result.stderr == ""


def test_options_become_configuration(program: Path) -> None:
    result = call("run", "-p", "4", "-Dspark.a=b=c", "-D", "x.y=", "--master", "local[3]", "--quiet", program)
    assert result.stdout.splitlines()[1:] == [
        "millrace.master = local[3]",
        "parallelism.default = 4",
        "spark.a = b=c",
        "spark.log.level = ERROR",
        "x.y = ",
    ]


def test_a_savepoint_becomes_configuration(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program.parent)
    keys = "execution.state-recovery"
    short = ("-s", "sp/1", "-n", "-cm", "CLAIM")
    long = ("--fromSavepoint=sp/1", "--allowNonRestoredState", "-rm", "claim")
    for options in (short, long):
        result = call("run", f"-D{keys}.path=elsewhere", *options, program)
        assert result.stdout.splitlines()[1:] == [
            f"{keys}.claim-mode = claim",
            f"{keys}.ignore-unclaimed-state = true",
            f"{keys}.path = {program.parent}/sp/1",
        ], result.output
    result = call("run", "-s", "s3://bucket/sp", "-py", program, "--restoreMode", "no_claim", "-s", "x")
    assert result.stdout.splitlines() == [
        f"{[str(program)]} {program.parent}",
        f"{keys}.claim-mode = no_claim",
        f"{keys}.path = {program.parent}/x",
    ]
    assert call("run", "-s", "s3://bucket/sp", program).stdout.splitlines()[1:] == [f"{keys}.path = s3://bucket/sp"]


@pytest.mark.parametrize("option", ["-py", "--python"])
def test_py_names_the_program_and_options_may_follow(program: Path, option: str) -> None:
    result = call("run", option, program, "-p", "3", "-Da=b", "--input", "-p", "9")
    assert result.stdout.splitlines() == [
        f"{[str(program), '--input', '-p', '9']} {program.parent}",
        "a = b",
        "parallelism.default = 3",
    ]


@pytest.mark.parametrize("name", ["-j", "--jarfile", "-jarfile"])
@pytest.mark.parametrize("first", [True, False])
def test_jars_of_a_python_program_are_sparks(program: Path, name: str, first: bool) -> None:
    """Flink's own documents: ``flink run -py word_count.py -j udf.jar``, in both orders."""
    own = program.parent / "own.jar"
    own.write_text("")
    jars = (name, str(own), name, "/no/flink-sql-connector-kafka.jar")
    words = (*jars, "-py", program) if first else ("-py", program, *jars)
    result = call("run", "-D", "pipeline.jars=file:///a.jar", *words, "x")
    assert result.stdout.splitlines() == [
        f"{[str(program), 'x']} {program.parent}",
        f"pipeline.jars = file:///a.jar;{own};/no/flink-sql-connector-kafka.jar",
    ], result.output


def test_jars_that_are_not_there_or_are_the_program(program: Path) -> None:
    result = call("run", "-j", "/no/udf.jar", program)
    assert result.exit_code == 2 and "no such jar (-j): /no/udf.jar" in result.stderr
    result = call("run", "-j", "job.jar")
    assert result.exit_code == 2
    assert "job.jar is a jar, and programs are written in Python: give one with -py" in result.stderr


@pytest.mark.parametrize("words", [("-parallelism", "3"), ("-parallelism=3",), ("--parallelism", "3"), ("-p3",)])
def test_long_names_may_have_one_dash(program: Path, words: tuple[str, ...]) -> None:
    """As commons-cli, which reads Flink's command line, takes them."""
    result = call("run", *words, "-python", program, "x", "-parallelism")
    assert result.stdout.splitlines() == [
        f"{[str(program), 'x', '-parallelism']} {program.parent}",
        "parallelism.default = 3",
    ]


def test_a_word_behind_a_short_option_is_no_value(program: Path) -> None:
    result = call("run", "-savepoint", "/tmp/sp", program)
    assert result.exit_code == 2
    assert "No such option '-savepoint'. Did you mean '--fromSavepoint'?" in result.stderr


def test_a_module_is_a_program(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program.parent)
    result = call("run", "-pym", "program", "a")
    assert result.stdout == f"{[str(program), 'a']} {program.parent}\n"


def test_python_files_can_be_imported(tmp_path: Path) -> None:
    for folder, text in (("one", "A = 1"), ("two", "B = 2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"lib_{folder}.py").write_text(text)
    program = tmp_path / "program.py"
    program.write_text("import lib_one, lib_two\nprint(lib_one.A, lib_two.B)")
    result = call("run", "-pyfs", f"{tmp_path / 'one' / 'lib_one.py'},{tmp_path / 'two'}", program)
    assert result.stdout == "1 2\n", result.output


def test_python_options_become_configuration(program: Path) -> None:
    here = program.parent
    for name in ("lib.py", "a.zip", "b.zip", "r.txt"):
        (here / name).write_text("")
    archives, needs = f"{here}/a.zip,{here}/b.zip#data", f"{here}/r.txt#/packages"
    options = ("-pyarch", archives, "-pyreq", needs, "-pyexec", "/usr/bin/python9")
    result = call("run", *options, "-pyfs", program.parent / "lib.py", program)
    assert result.stdout.splitlines()[1:] == [
        f"python.archives = {archives}",
        "python.executable = /usr/bin/python9",
        f"python.files = {program.parent}/lib.py",
        f"python.requirements = {needs}",
    ]


@pytest.mark.parametrize("option", ["-pyarch", "-pyreq"])
def test_files_that_are_not_there_are_told_at_once(program: Path, option: str) -> None:
    result = call("run", option, "/no/file#there", program)
    assert result.exit_code == 2 and f"({option}): /no/file" in result.stderr


def test_paths_on_the_command_line_are_relative_to_where_it_is_typed(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    for name in ("a.zip", "r.txt"):
        (program.parent / name).write_text("")
    result = call("run", "-pyarch", "a.zip", "-pyreq", "r.txt#packages", program)
    here = program.parent
    assert result.stdout.splitlines()[1:] == [
        f"python.archives = {here}/a.zip",
        f"python.requirements = {here}/r.txt#{here}/packages",
    ]
    assert call("run", "-pyreq", "r.txt", program).stdout.splitlines()[1:] == [f"python.requirements = {here}/r.txt"]


def test_an_environment_takes_the_python_options(tmp_path: Path) -> None:
    for name in ("lib.py", "data.zip", "r.txt"):
        (tmp_path / name).write_text("")
    program = tmp_path / "program.py"
    program.write_text(
        "from millrace.datastream import StreamExecutionEnvironment\n"
        "needs = StreamExecutionEnvironment.get_execution_environment()._dependencies\n"
        "print(needs.files, needs.archives[0].target, needs.requirements.path, needs.executable)\n"
    )
    keys = {"files": "lib.py", "archives": "data.zip#d", "requirements": "r.txt"}
    options = [f"-Dpython.{key}={tmp_path}/{value}" for key, value in keys.items()]
    result = call("run", *options, "-Dpython.executable=py", program)
    assert result.stdout == f"('{tmp_path}/lib.py',) d {tmp_path}/r.txt py\n", result.output


def test_a_cluster_gets_the_folder_of_the_program(program: Path) -> None:
    (program.parent / "package").mkdir()
    (program.parent / "package" / "part.py").write_text("")
    (program.parent / "not-a-package").mkdir()
    (program.parent / "not-a-package" / "part.py").write_text("")
    program.write_text(
        "import zipfile\nfrom millrace.datastream.settings import get_defaults\n"
        "print(zipfile.ZipFile(get_defaults().get_string('python.files', '')).namelist())\n"
    )
    result = call("run", "--master", "spark://host:7077", program)
    assert result.stdout == "['program.py', 'package/part.py']\n", result.output


def test_a_folder_that_is_too_large_is_refused(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.spark.archives.MAX_FILES", 1)
    (program.parent / "other.py").write_text("")
    result = call("run", "-Dspark.master=yarn", program)
    assert result.exit_code == 2
    assert "too many Python files to send to the workers" in result.stderr
    assert "--no-ship-folder" in result.stderr
    assert call("run", "-Dspark.master=yarn", "--no-ship-folder", program).exit_code == 0


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), "which program? Give its file, or a module with -pym"),
        (("/no/such.py",), "no such program: /no/such.py"),
        (("/tmp",), "the program /tmp is a folder"),
        (("-Dnovalue", "x.py"), "'novalue' is not key=value"),
        (("-p", "0", "x.py"), "0 is not in the range x>=1"),
        (("--paralelism", "3", "x.py"), "No such option"),
        (("-py", "a.py", "-pym", "b"), "both name a program"),
        (("--quiet", "--verbose", "x.py"), "contradict"),
        (("-s", "x", "-cm", "mine", "x.py"), "'mine' is not one of 'claim', 'no_claim', 'legacy'"),
        (("-pyfs", "/no/lib.py", __file__), "no such Python file or folder (-pyfs): /no/lib.py"),
    ],
)
def test_a_wrong_command_line_is_explained_in_a_line(args: tuple[str, ...], text: str) -> None:
    result = call("run", *args)
    assert result.exit_code == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.names[1])
@pytest.mark.parametrize("form", [0, 1])
def test_options_of_flink_that_do_nothing_here_are_refused(program: Path, refused: object, form: int) -> None:
    name, text, is_flag = refused.names[form], refused.text, refused.is_flag  # type: ignore[attr-defined]
    result = call("run", name, *([] if is_flag else ["value"]), program)
    assert result.exit_code == 2
    assert text in " ".join(result.stderr.split())
    assert "nearest" in text


def test_the_options_of_a_program_are_not_refused(program: Path) -> None:
    assert call("run", program, "-d", "-s", "x").exit_code == 0


def test_defaults_do_not_outlive_the_run(program: Path) -> None:
    from millrace.datastream.settings import get_defaults

    call("run", "-p", "4", program)
    assert get_defaults().to_dict() == {}


def test_versions() -> None:
    result = call("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("Millrace ")
    for name in ("Python", "PySpark", "Java"):
        assert name in result.stdout


def test_versions_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/java")
    assert "no Java 17 or newer found" in call("--version").stdout


@pytest.mark.filterwarnings("ignore::millrace.legacy.warning.OlderNameWarning")
def test_a_program_of_pyflink_runs_without_an_option(tmp_path: Path) -> None:
    """The command of docs/guide/older-programs.md, with a program of Flink 1.9."""
    program = tmp_path / "program.py"
    program.write_text(
        "from pyflink.table import BatchTableEnvironment, TableConfig\n"
        "from pyflink.dataset import ExecutionEnvironment\n"
        "t_env = BatchTableEnvironment.create(ExecutionEnvironment.get_execution_environment(), TableConfig())\n"
        "print(type(t_env).__module__.partition('.')[0])\n"
    )
    page = (Path(__file__).parents[2] / "docs" / "guide" / "older-programs.md").read_text("utf-8")
    assert "They run with `millrace run program.py` where no PyFlink is installed" in page
    result = call("run", program)
    assert (result.exit_code, result.stdout) == (0, "millrace\n"), result.output
    assert "PyFlink is not installed: `import pyflink` means Millrace here" in result.stderr
    result = call("run", "--pyflink", program)
    assert (result.exit_code, result.stdout) == (0, "millrace\n"), result.output
    assert "not installed" not in result.stderr


@pytest.mark.parametrize("command", ["sql", "sql-gateway"])
def test_clients_take_the_option_for_pyflink(command: str) -> None:
    assert "--pyflink" in call(command, "--help").stdout


def test_functions_of_pyflink_are_found_by_the_sql_client(tmp_path: Path) -> None:
    lib = tmp_path / "udfs.py"
    lib.write_text("from pyflink.table.udf import udf\nup = udf(lambda text: text.upper(), result_type='STRING')\n")
    statements = "CREATE TEMPORARY FUNCTION up AS 'udfs.up' LANGUAGE PYTHON; EXPLAIN SELECT up('a')"
    result = call("sql", "-pyfs", lib, "-e", statements)
    assert result.exit_code == 0, result.output
    assert "PythonCalc(select=[up('a')" in result.stdout
