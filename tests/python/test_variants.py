"""What is prepared for a hot call can be replaced while it runs."""

from __future__ import annotations

import threading

import pytest
import torch
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Einsum, Operand, product

import libsparse as ls

SPMM = product(Einsum((("i", "j"), ("j", "k")), ("i", "k")))
SCHEDULES = (
    "reorder(i, j, k);",
    "split(i, i0, i1, 8); parallelize(i0, threads);",
    "convert(A0, ds:1,0); reorder(j, i, k);",
    "convert(A0, ss); reorder(i, j, k);",
    "convert(A0, dk(4,5)); reorder(i, j, k);",
    "convert(A0, uq); reorder(i, j, k);",
)


@pytest.fixture
def operands() -> list[Operand]:
    A = ls.random((60, 50), 0.1, dtype=torch.float64)
    return [Operand(A.pattern, A.values()), Operand(None, torch.randn(50, 7, dtype=torch.float64))]


@pytest.mark.parametrize("followed", [False, True])
def test_variants_are_swapped_in_a_hot_loop(operands, followed):
    pattern, values, _ = operands[0]
    A, x = ls.SparseTensor(pattern, values), operands[1].values
    for _ in range(2):  # prepares it
        A @ x
    prepared = dispatch.prepare(SPMM, operands)
    assert prepared in pattern.fast.values()
    variants = [
        prepared.variant,
        *(dispatch.build(SPMM._replace(schedule=schedule), operands) for schedule in SCHEDULES),
    ]
    used, stop = set(), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for variant in variants:
                prepared.replace(variant)
                stop.wait(1e-4)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        expected = A.to_dense() @ x
        for number in range(300):
            used.add(id(prepared.variant))
            if followed:
                leaves = A.detach().requires_grad_(), x.clone().requires_grad_()
                out = leaves[0] @ leaves[1]
                out.backward(torch.ones_like(out))
                torch.testing.assert_close(leaves[1].grad, A.to_dense().T @ torch.ones_like(out))
                out = out.detach()
            else:
                out = A @ x if number % 2 else ls.einsum("ij,jk->ik", A, x)
            torch.testing.assert_close(out, expected)
    finally:
        stop.set()
        swapping.join()
    assert len(used) > 1


def test_a_replacement_is_what_computes(operands):
    A, x = ls.SparseTensor(operands[0].pattern, operands[0].data), operands[1].values
    A @ x
    prepared = dispatch.prepare(SPMM, operands)
    variant = dispatch.build(SPMM._replace(schedule=SCHEDULES[0]), operands)
    called = []
    variant._ways = []  # which have the kernel that there was
    variant.kernel = variant.kernel._replace(compute=lambda block: called.append(block) or 0)
    prepared.replace(variant)
    A @ x
    ls.einsum("ij,jk->ik", A, x)
    assert len(called) == 2
