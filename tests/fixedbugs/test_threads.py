"""Threads that share a tensor may all be the first to use it."""

from __future__ import annotations

import sys
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


def test_first_calls_at_the_same_time():
    interval, wrong = sys.getswitchinterval(), []
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(10):
            A, B, x = ls.random((60, 60), 0.05), ls.random((60, 60), 0.05), torch.rand(60, 4)
            dense, other = A.to_dense(), B.to_dense()
            barrier = threading.Barrier(6)

            def work(A=A, B=B, x=x, dense=dense, other=other, barrier=barrier):
                barrier.wait()
                for _ in range(4):
                    found = [(A @ A, dense @ dense), (A + B, dense + other), (A * B, dense * other)]
                    found += [(A.sum(1), dense.sum(1)), (A * x[:, 0], dense * x[:, 0]), (A @ x, dense @ x)]
                    wrong.extend(1 for ours, want in found if not torch.allclose(ours.to_dense(), want, atol=1e-4))

            workers = [threading.Thread(target=work) for _ in range(6)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
