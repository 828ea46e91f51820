"""Threads that share a tensor may all be the first to use it."""

from __future__ import annotations

import threading

import torch

import libsparse as ls


def test_first_conversions_at_the_same_time():
    wanted, failed = [], []
    for _ in range(10):
        A = ls.random((200, 200), 0.05)
        dense = A.to_dense()
        barrier = threading.Barrier(8)

        def work(A=A, dense=dense, barrier=barrier):
            barrier.wait()
            for _ in range(3):
                product = ls.einsum("ij,jk->ik", A, A, format="csr").to_dense()
                wanted.append(True)
                failed.append(not torch.allclose(product, dense @ dense, atol=1e-3))

        workers = [threading.Thread(target=work) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(wanted) == 240
    assert not any(failed)
