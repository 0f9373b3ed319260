"""Without HdrHistogram, which has no wheel for some machines, there is nothing to test."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("hdrh") else ["test_*.py"]
