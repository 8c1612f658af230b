"""HBase through its Thrift server: tables read, looked up and written."""
