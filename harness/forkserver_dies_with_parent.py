"""Imported by the fork server alone: from then on it dies with the harness, however that ends.

The signal follows the thread that started the fork server, which is why the
harness starts it from its main thread. A session of its own keeps the
terminal's Ctrl-C from it and from the clients that it starts: the harness
ends them.
"""

import os

from harness import safe_path
from harness.dying import die_with_parent

safe_path.clear()
die_with_parent()
os.setsid()
