"""``protobuf``: messages of classes that protoc has generated."""
