"""A first start says that it compiles: once, and only where something is compiled."""

import logging
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import torch

from zelkova import search
from zelkova.search import Puct, Root, Step
from zelkova.search.notice import NOTICE, compile_notice


def fresh(module: str) -> Callable[[int], int]:
    """Make a function of a module that has yet to be compiled."""

    def double(number: int) -> int:
        return number * 2

    double.__module__ = module
    compiled: Callable[[int], int] = numba.njit(double)
    return compiled


def planned(within: Callable[[], Any]) -> None:
    """Search, and do something of one's own at the root."""

    def root(position: Any) -> Root:
        within()
        return Root(position, torch.zeros(2, 3), torch.zeros(2))

    def step(embedding: Any, action: Any) -> Step:
        return Step(embedding, torch.zeros(2, 3), torch.zeros(2), 1.0 - action)

    found = search.plan((root, step), torch.zeros(2, 1), Puct(4), seed=0)
    assert np.array_equal(found.visit_counts.sum(axis=1), [4, 4])


def test_compiling_is_told_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    planned(lambda: None)  # compiles here what a first test would
    monkeypatch.setattr(compile_notice, "was_said", False)
    caplog.clear()
    known = fresh("zelkova.search.known")
    known(1)
    for quiet in (lambda: None, lambda: known(2), lambda: fresh("someone.else")(1)):
        planned(quiet)
    assert caplog.records == []
    planned(lambda: fresh("zelkova.search.new")(1))
    planned(lambda: fresh("zelkova.search.newer")(1))
    assert [(record.levelno, record.name, record.message) for record in caplog.records] == [
        (logging.WARNING, "zelkova.search", NOTICE)
    ]


def test_compiling_elsewhere_is_not_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compile_notice, "was_said", False)
    fresh("zelkova.search.new")(1)
    assert caplog.records == []
