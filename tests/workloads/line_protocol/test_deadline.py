"""The deadline of a request: what counts, and what does not."""

from __future__ import annotations

import time

import pytest

from workloads.line_protocol.pipe import POLL, Deadline, NoAnswer


def test_work_on_what_a_program_says_counts_in_full() -> None:
    deadline = Deadline(2 * POLL)
    began = time.thread_time()
    while time.thread_time() - began < 3 * POLL:
        pass

    with pytest.raises(NoAnswer):
        deadline.next_poll()
