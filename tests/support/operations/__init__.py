"""The rules of storages, operation by operation: slower than on columns, and held against those."""
