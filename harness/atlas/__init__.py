"""The atlas: which conditional writes of an S3 server are atomic, by races on the server itself."""
