"""Memory of large results is used again, and never while someone sees it."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
import torch
from libsparse._runtime import blocks

import libsparse as ls

ROWS = blocks.LARGE // 4 // 16


@pytest.fixture
def product():
    """A product whose result is just large enough; each has other numbers."""
    A = ls.eye(ROWS)
    A @ torch.zeros(ROWS, 16)
    return lambda number: A @ torch.full((ROWS, 16), float(number))


def test_memory_is_used_again(product) -> None:
    first = product(1)
    where = first.data_ptr()
    del first
    gc.collect()
    assert product(2).data_ptr() == where


@pytest.mark.parametrize(
    "hold",
    [
        lambda y: y,
        lambda y: y[1:, ::2],
        lambda y: y.detach(),
        lambda y: y.numpy(),
        lambda y: y.untyped_storage(),
        lambda y: memoryview(y.numpy()),
        lambda y: torch.from_dlpack(y),
        lambda y: np.from_dlpack(y),
        lambda y: y.share_memory_(),
        lambda y: y.requires_grad_().mul(y).grad_fn,
    ],
)
def test_what_is_seen_stays(product, hold) -> None:
    held = hold(product(1))
    where = {product(number).data_ptr() for number in (2, 3)}
    seen = held
    if isinstance(held, torch.UntypedStorage):
        seen = torch.empty(0).set_(held)
    if isinstance(seen, torch.Tensor):
        assert seen.data_ptr() not in where
        assert bool((seen == 1).all())
    elif hasattr(held, "shape") or isinstance(held, memoryview):
        assert (np.asarray(held) == 1).all()
    else:
        assert bool((held._saved_self == 1).all())


def test_resized_storages_are_not_used_again(product) -> None:
    y = product(1)
    y.untyped_storage().resize_(0)
    del y
    assert bool((product(2) == 2).all())


def test_threads_get_memory_of_their_own(product) -> None:
    wrong = []

    def work(number: int) -> None:
        for _ in range(5):
            y = product(number)
            if not bool((y == number).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_that_is_kept_is_bounded(product) -> None:
    held = [product(number) for number in range(8)]
    del held
    sizes = [block.size for kept in blocks._all._blocks.values() for block in kept]
    assert sum(sizes) == blocks._all._held <= blocks.most_kept()
    for number in range(2 * blocks._PATIENCE):
        product(number)
    assert sum(len(kept) for kept in blocks._all._blocks.values()) <= 2


def test_a_saved_result_takes_no_other_memory_with_it(product) -> None:
    A = ls.eye(ROWS)
    larger = A @ torch.full((ROWS, 18), 7.0)
    del larger
    gc.collect()
    y = product(1)
    assert y.untyped_storage().nbytes() == y.numel() * y.element_size()


def test_a_signal_handler_computes_while_a_result_is_made(product) -> None:
    with blocks._all._lock:
        assert bool((product(3) == 3).all())


def test_children_begin_anew_while_a_thread_of_the_parent_holds_the_lock() -> None:
    with blocks._all._lock:
        child = os.fork()
        if child == 0:
            blocks.empty((blocks.LARGE,), (1,), torch.uint8)
            os._exit(0)
    deadline = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
    assert ended == (child, 0)
