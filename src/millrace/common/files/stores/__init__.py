"""Object stores and HDFS: how they are opened, with which settings, and what their errors mean."""
