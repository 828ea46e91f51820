"""Blocks of options in several threads, which end in another order than they began in."""

from __future__ import annotations

import threading

import pytest
from libsparse._compiler import settings
from libsparse._storage import derived, threads

import libsparse as ls


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_blocks_that_end_in_any_order(order):
    before = settings._settings()
    blocks = [ls.options(num_threads=number).__enter__() for number in (2, 3, 4)]
    for done, number in enumerate(order):
        blocks[number].__exit__(None, None, None)
        left = [other for other in (0, 1, 2) if other not in order[: done + 1]]
        assert threads.chosen() == (left[-1] + 2 if left else before["num_threads"])
    assert settings._settings() == before


def test_a_block_restores_what_it_has_set_while_another_is_open(tmp_path):
    before = settings._settings()
    first = ls.options(num_threads=2, tune_share=0.5).__enter__()
    second = ls.options(cache_dir=tmp_path, tune_bitwise=True).__enter__()
    third = ls.options(derived_bytes=7).__enter__()
    first.__exit__(None, None, None)
    assert settings._settings() == before | {"cache_dir": str(tmp_path), "derived_bytes": 7, "tune_bitwise": True}
    third.__exit__(None, None, None)
    assert derived.limit == before["derived_bytes"]
    assert settings.tuning.tune_bitwise
    second.__exit__(None, None, None)
    assert settings._settings() == before


def test_blocks_of_threads_leave_nothing_behind():
    before = settings._settings()
    started, left = threading.Event(), threading.Event()

    def other():
        with ls.options(num_threads=3):
            started.set()
            left.wait(10)

    thread = threading.Thread(target=other)
    with ls.options(num_threads=2):
        thread.start()
        started.wait(10)
    left.set()
    thread.join()
    assert settings._settings() == before


def test_changes_within_a_block_end_with_it():
    before = settings._settings()
    with ls.options(num_threads=2):
        with ls.options(num_threads=3):
            ls.options(derived_bytes=5)
        assert settings._settings() == before | {"num_threads": 2}
        ls.options(num_threads=4, tune_share=0.3)
    assert settings._settings() == before


def test_blocks_that_come_again():
    block = ls.options(num_threads=3)
    with block, block:
        pass
    before = threads.chosen()
    with ls.options(num_threads=5):
        for _ in range(2):
            with block:
                assert threads.chosen() == 3
                with block:
                    assert threads.chosen() == 3
                with block:
                    assert threads.chosen() == 3
                assert threads.chosen() == 3
            assert threads.chosen() == 5
    assert threads.chosen() == before
