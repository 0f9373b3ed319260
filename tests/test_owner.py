"""Whose a process or a container is, and whether its owner lives."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace

import pytest

from harness import owner
from harness.owner import Life

US = owner.this_process()
NAME, NAMESPACE, BOOT = US.host.split("/")


def test_marks_are_read_back():
    marks = US.marks("run-1")

    assert marks[owner.RUN] == "run-1"
    assert owner.owner_of(marks) == US
    assert owner.from_environment(owner.as_environment(marks)) == marks


@pytest.mark.parametrize(
    ("them", "life"),
    [
        (US, Life.ALIVE),
        (replace(US, started=US.started + 1), Life.DEAD),  # the pid is somebody else's by now
        (replace(US, host=f"{NAME}/{NAMESPACE}/another-boot"), Life.DEAD),
        (replace(US, host=f"another-host/{NAMESPACE}/{BOOT}"), Life.ELSEWHERE),
        (replace(US, host=f"{NAME}/1/{BOOT}"), Life.ELSEWHERE),  # in another container
    ],
)
def test_an_owner_lives_where_its_pid_started_when_it_says(them, life):
    assert them.life() is life


def test_a_zombie_is_dead():
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked yet

        assert owner.Owner(child.pid, owner._start_ticks(US.pid) or 0, US.host).life() is Life.DEAD


@pytest.mark.parametrize("marks", [{}, {owner.RUN: "by-hand", owner.HARNESS: "by-hand"}])
def test_nobody_here_can_tell_of_what_was_started_by_hand(marks):
    assert owner.life_of(marks) is Life.ELSEWHERE
