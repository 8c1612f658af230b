"""Mistakes in programs of the Table API, and in functions of tables."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import program

TITLE = "Programs with tables"

ORDERS = "orders = t_env.from_elements([(1, 'Ann', 30), (2, 'Bob', 0)], ['id', 'name', 'amount'])\n"
DOUBLE = "double = udf(lambda amount: 2 * amount, result_type=DataTypes.BIGINT())\n"

MISTAKES = (
    program(
        "A column that is misspelt",
        ORDERS + "orders.select(col('nam'))  # <-\n",
        ("unknown column 'nam'", "did you mean 'name'", "id, name, amount"),
        "The table has no column of this name; the message lists those that it has.",
        "Use the name that is proposed.",
    ),
    program(
        "Text in place of a column",
        ORDERS + "orders.select('id, name')  # <-\n",
        ("'id, name' is text", "col('name')"),
        "Expressions as text were part of older versions of Flink.",
        "Write `orders.select(col('id'), col('name'))`; "
        "[older programs](guide/older-programs.md) run with the option that this page names.",
    ),
    program(
        "Python's `and` between conditions",
        ORDERS + "orders.where(col('amount') > 1 and col('id') < 3)  # <-\n",
        ("combine expressions with &",),
        "`and`, `or` and `not` ask an expression whether it is true, which it is for rows only.",
        "Write `(col('amount') > 1) & (col('id') < 3)`, `|` for or, `not_()` for not. The brackets are needed.",
    ),
    program(
        "A type as text",
        ORDERS + "orders.select(col('id').cast('STRING'))  # <-\n",
        ("cast(...) takes a DataType", "DataTypes.STRING()", "'STRING'"),
        "In the Table API types are objects; their names are text in SQL only.",
        "Write `col('id').cast(DataTypes.STRING())`.",
    ),
    program(
        "Rows of different lengths",
        "t_env.from_elements([(1, 'Ann'), (2,)], ['id', 'name'])  # <-\n",
        ("2 columns (id, name)", "one has 1"),
        "Each row has a value for each column.",
        "Give None for what is missing.",
    ),
    program(
        "A cell of a notebook run twice",
        ORDERS + "t_env.create_temporary_view('orders', orders)\nt_env.create_temporary_view('orders', orders)  # <-\n",
        ("orders` already", "drop_temporary_view()"),
        "The view is there from the first time.",
        "Call `t_env.drop_temporary_view('orders')` before; it does nothing where there is none.",
    ),
    program(
        "A function of a table that raises",
        ORDERS + "ratio = udf(lambda amount: 100 / amount, result_type=DataTypes.DOUBLE())\n"
        "orders.select(ratio(col('amount'))).execute().print()  # <-\n",
        ("element: (0,)", "ZeroDivisionError", "job.py:2"),
        "The function fails for a row; its arguments are shown.",
        "Handle the value in the function, or filter such rows out before.",
    ),
    program(
        "A result of a function of another type than declared",
        ORDERS + "double = udf(lambda amount: str(2 * amount), result_type=DataTypes.BIGINT())\n"
        "orders.select(double(col('amount'))).execute().print()  # <-\n",
        ("declared as BIGINT and returned '60'",),
        "The results can't be taken for values of the declared type.",
        "Declare the type that the function returns, or convert the result in it.",
        others_words=True,
    ),
    program(
        "A function without result_type",
        "double = udf(lambda amount: 2 * amount)  # <-\n",
        ("result_type", "not None"),
        "The plan has a type for each column before anything runs.",
        "Say it: `udf(f, result_type=DataTypes.BIGINT())`.",
    ),
    program(
        "A Series of another length",
        ORDERS + "first = udf(lambda amounts: amounts[:1], result_type=DataTypes.BIGINT(), func_type='pandas')\n"
        "orders.select(first(col('amount'))).execute().print()  # <-\n",
        ("'1'", "input length '2'"),
        "A pandas function gets a Series and returns one of the same length.",
        "For one value of many rows use `udaf(..., func_type='pandas')`.",
    ),
    program(
        "Too many arguments for a function",
        ORDERS + DOUBLE + "orders.select(double(col('amount'), col('id'))).execute().print()  # <-\n",
        ("element: (30, 1)", "1 positional argument but 2 were given"),
        "The call has another number of arguments than the function.",
        "Count the arguments of the call.",
    ),
    program(
        "A function that SQL does not know",
        ORDERS + DOUBLE + "t_env.create_temporary_view('orders', orders)\n"
        "t_env.sql_query('SELECT double(amount) FROM orders')  # <-\n",
        ("unknown function double()", "line 1, column 8"),
        "SQL finds functions by the names that they are registered by, not by variables of Python.",
        "Call `t_env.create_temporary_function('double', double)` before.",
    ),
    program(
        "An INSERT into a table that there is not",
        ORDERS + 't_env.execute_sql("CREATE TABLE sink (id BIGINT, name STRING, amount BIGINT) '
        "WITH ('connector' = 'print')\")\n"
        "orders.execute_insert('sinkk')  # <-\n",
        ("no table sinkk", "did you mean 'sink'"),
        "No table has this name in the current catalog and database.",
        "Use the name that is proposed, or create the table.",
    ),
    program(
        "Columns of a stream without types",
        "stream = env.from_collection([('a', 1)])\nt_env.from_data_stream(stream).select(col('f1'))  # <-\n",
        ("unknown column 'f1'", "f0"),
        "A stream without a declared type is a table of one column, `f0`, with the whole element.",
        "Declare the type where the stream is made: `Types.TUPLE([Types.STRING(), Types.INT()])`.",
    ),
    program(
        "Changes as a stream of insertions",
        ORDERS + "counts = orders.group_by(col('name')).select(col('name'), col('id').count)\n"
        "t_env.to_data_stream(counts)  # <-\n",
        ("GROUP BY without window", "to_changelog_stream()"),
        "The counts change with each row, and a stream of rows cannot take one back.",
        "Use `to_changelog_stream()`, whose rows have a kind, or a window.",
    ),
)
