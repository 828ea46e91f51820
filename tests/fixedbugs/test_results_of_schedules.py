"""Results of schedules by hand: those of `evaluate`, with their fill values, whatever is converted."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("format", [None, "coo", "dense"])
@pytest.mark.parametrize(
    "text", ["Y(i,j) = exp(A(i,j))", "Y(i,j) = A(i,j) / B(i,j)", "Y(i,j) = F(i,j) * 2", "Y(i,j) = eq(A(i,j), B(i,j))"]
)
def test_schedules_keep_fill_values(dense: torch.Tensor, text: str, format: str | None) -> None:
    known = {"A": ls.tensor(dense), "B": ls.tensor(dense.square()), "F": ls.tensor(dense) + 1}
    operands = {name: operand for name, operand in known.items() if f"{name}(" in text}
    wanted = ls.evaluate(text, format=format, **operands)
    schedule = ls.schedule(text, format=format, **operands)
    for found in (schedule.run(), schedule.prepare()(), schedule.automatic()()):
        assert type(found) is type(wanted)
        if isinstance(found, ls.SparseTensor):
            found, expected = found.to_dense(), wanted.to_dense()
        else:
            expected = wanted
        torch.testing.assert_close(found, expected, equal_nan=True)


def test_dense_operands_that_are_converted_are_prepared(dense: torch.Tensor) -> None:
    x = torch.rand(3, 4)
    schedule = ls.schedule("ij,jk->ik", ls.tensor(dense), x).convert("A1", "dd:1,0")
    torch.testing.assert_close(schedule.prepare()(), dense @ x)


def test_values_are_kept_where_the_compiler_would_take_several_steps() -> None:
    first, second, x = torch.randn(9, 12).relu(), torch.randn(9, 12).relu(), torch.rand(12)
    A, B = ls.tensor(first, format="sell(4)"), ls.tensor(second, format="coo")
    schedule = ls.schedule("Y(i,j) = where(gt(A(i,j), B(i,j)), A(i,j), x(j))", A=A, B=B, x=x, format="db")
    schedule = schedule.then("convert(B, dk(2,3), values)")
    for factor in (1, 1, 1, 2, 1):
        B.values().mul_(factor)
        second *= factor
        torch.testing.assert_close(schedule.run().to_dense(), torch.where(first > second, first, x))


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda s: s.reorder(3), ls.LibsparseError),
        (lambda s: s.then(3), ls.DtypeError),
        (lambda s: s.bound("k", "j"), ls.DtypeError),
        (lambda s: s.bound("k", 1, []), ls.DtypeError),
        (lambda s: s.bound([], 4), ls.LibsparseError),
        (lambda s: s.precompute("all", "w", 1, rename="i"), ls.DtypeError),
        (lambda s: s.explain(3), ls.DtypeError),
        (lambda s: ls.schedule("ij,j->i", torch.ones(2, 2), torch.ones(2), reduce=[]), ls.FormatError),
        (lambda s: ls.schedule("ij,j->i", torch.ones(2, 2), torch.ones(2), combine={}), ls.FormatError),
    ],
)
def test_what_is_no_command(build, kind) -> None:
    with pytest.raises(kind):
        build(ls.schedule("ij,jk->ik", ls.tensor(torch.eye(2)), torch.ones(2, 4))).run()
