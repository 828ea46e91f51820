"""Dense operands and results whose modes the compiler puts into another order: values, strides, gradients, words."""

import pytest
import torch
import torch.nn.functional as F

import libsparse as ls


@pytest.fixture(scope="module")
def weight() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(96, 70) * (torch.rand(96, 70) < 0.3)


def columns(x: torch.Tensor) -> torch.Tensor:
    """The same tensor with its columns contiguous."""
    return x.t().contiguous().t()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)", "ell", "dia"])
@pytest.mark.parametrize("lay", [torch.Tensor.contiguous, columns])
def test_products(weight: torch.Tensor, format: str, lay) -> None:
    A = ls.tensor(weight, format=format)
    x, y = lay(torch.randn(70, 80)), lay(torch.randn(80, 96))
    for result, wanted in ((A @ x, weight @ x), (y @ A, y @ weight), (F.linear(x.t(), A), F.linear(x.t(), weight))):
        torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-4)
        assert result.is_contiguous()


def test_gradients(weight: torch.Tensor) -> None:
    A = ls.tensor(weight.double()).requires_grad_()
    x = torch.randn(90, 70, dtype=torch.double, requires_grad=True)
    dense, z = weight.double().requires_grad_(), x.detach().clone().requires_grad_()
    for _ in range(2):  # the second uses prepared calls
        factor = torch.randn(90, 96, dtype=torch.double)
        found = torch.autograd.grad((F.linear(x, A) * factor).sum(), (A, x))
        wanted = torch.autograd.grad((F.linear(z, dense) * factor).sum(), (dense, z))
        torch.testing.assert_close(found[1], wanted[1])
        torch.testing.assert_close(found[0].to_dense(), wanted[0] * (weight != 0))


def test_sampled_product_of_columns(weight: torch.Tensor) -> None:
    A = ls.tensor(weight)
    for x in (torch.randn(96, 64), columns(torch.randn(96, 64))):
        for y in (torch.randn(64, 70), columns(torch.randn(64, 70))):
            torch.testing.assert_close(ls.sddmm(A, x, y).to_dense(), weight * (x @ y), rtol=1e-4, atol=1e-4)


def test_the_epilogue_reads_the_result_where_it_is(weight: torch.Tensor) -> None:
    A, x, bias = ls.tensor(weight), torch.randn(200, 70), torch.randn(96)
    torch.testing.assert_close(
        ls.compile(lambda x: torch.relu(F.linear(x, A, bias)))(x),
        torch.relu(F.linear(x, weight, bias)),
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_schedule_says_it(weight: torch.Tensor) -> None:
    x = torch.randn(50, 70)
    plan = ls.schedule("ij,kj->ik", x, ls.tensor(weight)).then("convert(A0, dd:1,0); convert(out, dd:1,0)")
    result = plan.reorder("k", "j", "i").vectorize("i").run()
    torch.testing.assert_close(result, x @ weight.t(), rtol=1e-4, atol=1e-4)
    assert result.is_contiguous()


def test_explain_says_it() -> None:
    A = ls.random((1024, 784), density=0.6)  # too many entries for strips
    text = str(ls.explain("bi,oi->bo", torch.randn(256, 784), A))
    assert 'operand A0: converted from "dd" to "dd:1,0"' in text
    assert "it is copied after the kernel" in text
