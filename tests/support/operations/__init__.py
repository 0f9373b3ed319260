"""The rules of storages, operation by operation: slower than on columns, and compared with those."""
