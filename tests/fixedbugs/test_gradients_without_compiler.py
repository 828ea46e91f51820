"""`ls.enable()` without a C compiler, where the pack has a product but not its gradient: backward passes raised."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from libsparse._compiler import kernel, native, target
from libsparse._torch import routed_calls, trained_calls

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.parametrize(
    "call", [lambda A, x: torch.spmm(A, x), lambda A, x: torch.sparse.mm(A, x), lambda A, x: A @ x]
)
def test_torch_computes_calls_whose_gradients_have_no_kernel(
    call: Any, layout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def compile_request(wanted: dict[str, Any]) -> dict[str, Any]:
        asked.append(wanted["spec"])
        if wanted["spec"].endswith("->jk"):
            raise ls.ToolchainError("no C compiler was found")
        return compiled(wanted)

    compiled = native.compile_request
    monkeypatch.setattr(native, "compile_request", compile_request)
    monkeypatch.setattr(kernel, "_stored", lambda *_: None)
    monkeypatch.setattr(target, "has_compiler", lambda: False)
    monkeypatch.setattr(trained_calls, "_has_compiler", False)
    for kinds in (trained_calls._tried, trained_calls._refused):
        kinds.clear()
    monkeypatch.setattr(routed_calls, "_has_said", False)
    kernel.forget()
    A = (torch.rand(90, 90) - 0.8).relu().to_sparse().to_sparse(layout=layout)
    x = torch.rand(90, 5, requires_grad=True)
    with ls.override(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            y = call(A, x)
            y.square().sum().backward()
    assert x.grad is not None
    dense = A.to_dense()
    torch.testing.assert_close(x.grad, 4 * dense.T @ dense @ x.detach())
    assert sum(spec.endswith("->jk") for spec in asked) == 1  # the second call goes to torch at once
    assert sum("C compiler" in str(warning.message) for warning in said) == 1
    kernel.forget()
    trained_calls._refused.clear()
