"""PySpark's worker daemon, by the name that settings of existing sessions give."""

from millrace.spark.workers.daemon import main

if __name__ == "__main__":
    main()
