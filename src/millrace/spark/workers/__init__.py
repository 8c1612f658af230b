"""Code that runs in the processes of Spark's Python workers: daemon, keeper, owners, and the tasks in them."""
