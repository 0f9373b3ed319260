"""Interrupts while servers are being removed."""

from __future__ import annotations

import signal
import threading

import pytest

from harness.processes.deferred_interrupts import deferred_interrupts


def test_ctrl_c_is_raised_at_the_end_of_the_block() -> None:
    reached = []

    def interrupted() -> None:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_unhandled_signal_still_ends_the_process() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with deferred_interrupts():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_another_thread_is_never_interrupted() -> None:
    handlers = []

    def work() -> None:
        with deferred_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert handlers == [signal.default_int_handler]
