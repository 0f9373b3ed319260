"""Storages: what each rule says of all resources at once, with the storage's own order and without."""
