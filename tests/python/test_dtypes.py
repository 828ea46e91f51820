"""Every dtype through everything that computes, against dense torch."""

from __future__ import annotations

import pytest
import torch
from by_dtype import COMPLEX, DTYPES, FLOATS, HALVES, WIDE, einsum, masked, numbers, same

import libsparse as ls


@pytest.mark.parametrize(
    ("dtype", "format"), [*((d, "csr") for d in DTYPES), (torch.bfloat16, "csc"), (torch.int8, "coo")]
)
class TestProducts:
    def test_spmm(self, dtype, format):
        a, x = masked((9, 7), dtype, 1), numbers((7, 16), dtype, 2)
        same(ls.tensor(a, format) @ x, einsum("ij,jk->ik", a, x))

    def test_spmm_of_an_odd_width(self, dtype, format):
        a, x = masked((9, 7), dtype, 1), numbers((7, 19), dtype, 2)
        same(ls.tensor(a, format) @ x, einsum("ij,jk->ik", a, x))

    def test_spmv(self, dtype, format):
        a, x = masked((9, 7), dtype, 1), numbers((7,), dtype, 2)
        same(ls.tensor(a, format) @ x, einsum("ij,j->i", a, x))

    def test_transposed(self, dtype, format):
        a, x = masked((9, 7), dtype, 1), numbers((9, 5), dtype, 2)
        same(ls.tensor(a, format).T @ x, einsum("ij,ik->jk", a, x))

    def test_spgemm(self, dtype, format):
        a, b = masked((9, 7), dtype, 1), masked((7, 8), dtype, 2)
        same(ls.tensor(a, format) @ ls.tensor(b, format), einsum("ij,jk->ik", a, b))

    def test_elementwise(self, dtype, format):
        a, b = masked((9, 7), dtype, 1), masked((9, 7), dtype, 2)
        same(ls.tensor(a, format) * ls.tensor(b, format), a * b)
        same(ls.tensor(a, format) + ls.tensor(b, format), a + b)
        same(ls.tensor(a, format) * b, a * b)

    def test_sddmm(self, dtype, format):
        a, q, k = masked((9, 7), dtype, 1), numbers((9, 6), dtype, 2), numbers((6, 7), dtype, 3)
        same(ls.sddmm(ls.tensor(a, format), q, k), einsum("ij,ik,kj->ij", a, q, k))
        mask = a != 0
        plain = einsum("ik,kj->ij", q, k)
        same(ls.sddmm(ls.from_mask(mask, format), q, k), torch.where(mask, plain, torch.zeros((), dtype=dtype)))

    def test_chain(self, dtype, format):
        a, b, x = masked((9, 7), dtype, 1), masked((7, 8), dtype, 2), numbers((8,), dtype, 3)
        want = einsum("ij,jk,k->i", a, b, x)
        same(ls.einsum("ij,jk,k->i", ls.tensor(a, format), ls.tensor(b, format), x), want)

    def test_sums(self, dtype, format):
        a = masked((9, 7), dtype, 1)
        t = ls.tensor(a, format)
        for dim in (0, 1):
            same(t.sum(dim), a.sum(dim))
        same(t.sum(), a.sum())
        if dtype in FLOATS + COMPLEX:
            same(t.mean(1), a.mean(1))

    def test_conversions(self, dtype, format):
        a = masked((9, 7), dtype, 1)
        for other in ("csr", "csc", "dcsr", "coo"):
            same(ls.tensor(a, format).to_format(other), a)
        if dtype not in HALVES:
            same(ls.from_torch(ls.tensor(a, format).to_torch()), a)


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX], ids=str)
class TestExpressions:
    def test_functions(self, dtype):
        a, x = masked((9, 7), dtype, 1), numbers((7,), dtype, 2)
        wide = a.to(WIDE.get(dtype, dtype))
        for name in ("sin", "tanh", "expm1", "asinh", "log1p"):
            got = ls.evaluate(f"C(i,j) = {name}(A(i,j)) * x(j)", A=ls.tensor(a), x=x)
            same(got, (getattr(torch, name)(wide) * x.to(wide.dtype)).to(dtype))

    def test_numbers(self, dtype):
        a, b = masked((9, 7), dtype, 1), masked((9, 7), dtype, 2)
        wide = WIDE.get(dtype, dtype)
        got = ls.evaluate("C(i,j) = 2.5 * A(i,j) - B(i,j) / 3", A=ls.tensor(a), B=ls.tensor(b))
        same(got, (2.5 * a.to(wide) - b.to(wide) / 3).to(dtype))

    def test_several_sums(self, dtype):
        a, x, b = masked((9, 7), dtype, 1), numbers((7,), dtype, 2), numbers((9,), dtype, 3)
        wide = WIDE.get(dtype, dtype)
        got = ls.evaluate("y(i) = A(i,j) * x(j) + b(i)", A=ls.tensor(a), x=x, b=b)
        same(got, (a.to(wide) @ x.to(wide) + b.to(wide)).to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(
    ("spec", "wish"),
    [
        ("ij,jk->ik", None),
        ("ij,ik->jk", None),
        ("ij,j->i", None),
        ("ij,i->j", None),
        ("ij->", None),
        ("ij,jk->ki", "dense"),
    ],
)
def test_long_sums_of_halves_do_not_stall(dtype, spec, wish):
    """Sums of ones in bfloat16 end at 256, in float16 at 2048."""
    n = 5000
    a = torch.ones((3, n) if "j->" in spec or ",j" in spec else (n, 3), dtype=dtype)
    extents = {"i": a.shape[0], "j": a.shape[1], "k": 5}
    inputs = spec.split("->")[0].split(",")
    others = [torch.ones([extents[i] for i in term], dtype=dtype) for term in inputs[1:]]
    for format in ("csr", "csc"):
        same(ls.einsum(spec, ls.tensor(a, format), *others, format=wish), einsum(spec, a, *others))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_sum_in_floats_for_sparse_results(dtype):
    n = 5000
    a, b = torch.zeros(4, n, dtype=dtype), torch.zeros(n, 6, dtype=dtype)
    a[1], b[:, 2] = 1, 1
    for wish in ("csr", "coo", "dcsr", "csc"):
        same(ls.einsum("ij,jk->ik", ls.tensor(a), ls.tensor(b), format=wish), einsum("ij,jk->ik", a, b))
    cube = torch.ones(3, n, 4, dtype=dtype)
    same(
        ls.einsum("ijk,jl->ikl", ls.tensor(cube), torch.ones(n, 5, dtype=dtype)), torch.full((3, 4, 5), n, dtype=dtype)
    )


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_round_as_torch(dtype):
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    every = bits.view(dtype)
    line = torch.arange(every.numel())
    t = ls.from_coo(torch.stack([line]), every, (every.numel(),), "s")
    torch.testing.assert_close(t.to_format("s").values(), every, rtol=0, atol=0, equal_nan=True)
    wide = ls.einsum("i,i->i", t, torch.ones(every.numel()), format="s").values()  # to float32
    torch.testing.assert_close(wide, every.float(), rtol=0, atol=0, equal_nan=True)
    x = torch.cat(
        [wide * (1 + 2.0**-12), wide * 1.0009765, torch.tensor([65519.0, 65520.0, 1e38, 3.3953e38, 1e-8, 1e-45])]
    )
    one = torch.ones(x.numel(), dtype=dtype)
    narrow = ls.evaluate(
        "y(i) = A(i) * 0.5 + B(i) * 0.5",
        A=ls.from_coo(line[None, : every.numel()], every, (every.numel(),), "s"),
        B=ls.from_coo(line[None, : every.numel()].flip(1), every.flip(0), (every.numel(),), "s"),
        format="s",
    )
    want = (every.float() * 0.5 + every.float() * 0.5).to(dtype)
    torch.testing.assert_close(narrow.values(), want, rtol=0, atol=0, equal_nan=True)
    # products of two halves fall between their values, on ties, and beyond their range
    y = one[: every.numel()] * 1.0078125
    product = ls.einsum("i,i->i", t, y, format="s").values()
    torch.testing.assert_close(product, (every.float() * y.float()).to(dtype), rtol=0, atol=0, equal_nan=True)


def test_integers_stay_exact():
    big = 2**53 + 1
    a = torch.tensor([[0, big], [1, 0]])
    t = ls.tensor(a)
    assert (t @ torch.tensor([3, 1])).tolist() == [big, 3]
    assert ls.evaluate("y(i) = A(i,j) * x(j)", A=t, x=torch.tensor([3, 1])).tolist() == [big, 3]
    assert ls.evaluate(f"C(i,j) = A(i,j) * {big}", A=ls.tensor(torch.tensor([[1, 0]]))).to_dense().tolist() == [
        [big, 0]
    ]
    assert t.sum().item() == big + 1
    assert t.sum(1).tolist() == [big, 1]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.bool], ids=str)
def test_narrow_integers_sum_to_int64(dtype):
    a = torch.ones(3, 400, dtype=dtype)
    t = ls.tensor(a)
    same(t.sum(1), a.sum(1))
    same(t.sum(), a.sum())
    same(t.sum(0), a.sum(0))
    assert ls.tensor(torch.full((1, 400), 100, dtype=torch.int8)).sum(1).item() == 40000


@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_promotion(first):
    for second in DTYPES[DTYPES.index(first) :]:
        a, x = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 0]]).to(first), torch.tensor([1, 2, 3, 4]).to(second)
        wanted = torch.promote_types(first, second)
        got = ls.evaluate("y(i) = A(i,j) * x(j)", A=ls.tensor(a), x=x)
        want = einsum("ij,j->i", a.to(wanted), x.to(wanted))
        same(got, want)


@pytest.mark.parametrize(
    ("first", "second"), [(torch.uint8, torch.int8), *zip(HALVES, [torch.bfloat16, torch.int64], strict=True)]
)
def test_promotion_of_operators(first, second):
    wanted = torch.promote_types(first, second)
    a, b = torch.eye(3, dtype=first), torch.ones(3, 3, dtype=second).tril()
    same(ls.tensor(a) + ls.tensor(b), a + b)
    same(ls.tensor(a) * ls.tensor(b), a * b)
    same(ls.tensor(a) * b, a * b)
    same(ls.tensor(a) @ ls.tensor(b), a.to(wanted) @ b.to(wanted))


@pytest.mark.parametrize("dtype", [torch.int32, torch.bfloat16, torch.float32, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("number", [True, 2, 2.5, 1j, torch.tensor(2.5, dtype=torch.float64), torch.tensor(3)], ids=str)
def test_numbers_promote_weakly(dtype, number):
    wanted = torch.result_type(torch.ones(2, dtype=dtype), number)
    t = ls.tensor(torch.eye(3, dtype=dtype))
    wanted = wanted if wanted in DTYPES else torch.complex64  # torch hardly computes with complex halves
    assert (t * number).dtype == wanted
    assert ls.evaluate("B(i,j) = s * A(i,j)", s=number, A=t).dtype == wanted
    assert ls.einsum(",ij->ij", number, t).dtype == wanted


def test_bool_has_no_difference():
    t = ls.tensor(torch.eye(2, dtype=torch.bool))
    with pytest.raises(ls.DtypeError):
        t - t
    with pytest.raises(ls.DtypeError):
        ls.evaluate("B(i,j) = -A(i,j)", A=t)
    same(ls.tensor(torch.eye(2)) - t, torch.zeros(2, 2))
