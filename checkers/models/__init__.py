"""Linearizability of operations under a model, like Knossos and Porcupine; it can be used alone."""
