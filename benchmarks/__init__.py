"""Figures that the documentation quotes, each measured anew by one command."""
