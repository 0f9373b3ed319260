"""Linearizability under a model, like Knossos and Porcupine; usable on its own."""
