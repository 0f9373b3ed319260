"""Linearizability of operations under a model, in the manner of Knossos and Porcupine: usable alone."""
