"""Small wrong locks and storages for `benchmarks.planted`, which the zoo does not have."""
