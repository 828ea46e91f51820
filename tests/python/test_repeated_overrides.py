"""Blocks of `ls.override()` that are entered again and again, as in each step of a loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from libsparse._torch import overrides

import libsparse as ls

CSR = torch.eye(4).to_sparse_csr()
X = torch.randn(4, 4)
ENOUGH = overrides._KEEPING


@pytest.fixture(params=["C", "Python"], autouse=True)
def _way(request: Any, monkeypatch: Any) -> Iterator[None]:
    ls.disable()
    if request.param == "Python":
        monkeypatch.setattr(overrides, "native", None)
        overrides._routed.cache_clear()
    elif overrides.native is None:
        pytest.skip("built without a C compiler, or for Python 3.10")
    yield
    ls.disable()
    overrides._routed.cache_clear()


def takes_softmax() -> bool:
    """Whether calls that torch refuses are computed: softmax of CSR."""
    try:
        torch.softmax(CSR, 1)
    except RuntimeError:
        return False
    return True


def test_functions_of_torch_stay_replaced_after_some_blocks() -> None:
    own = torch.mm
    for _ in range(ENOUGH):
        assert torch.mm is own
        with ls.override():
            first = torch.mm
    for _ in range(3):
        with ls.override():
            with ls.override():
                assert takes_softmax()
            assert takes_softmax()
            assert torch.mm is first
        assert torch.mm is first
        assert not takes_softmax()
        torch.testing.assert_close(torch.mm(X, X), own(X, X))
    ls.enable()
    assert takes_softmax()
    ls.disable()
    assert torch.mm is own


def test_what_another_library_puts_there_between_blocks_is_replaced_too(monkeypatch: Any) -> None:
    monkeypatch.setattr(torch, "softmax", torch.softmax)  # so that torch's own is put back in the end
    for _ in range(ENOUGH):
        with ls.override():
            pass
    calls = []

    def theirs(*args: Any, _own: Any = torch.softmax, **kwargs: Any) -> Any:
        calls.append(args)
        return _own(*args, **kwargs)

    torch.softmax = theirs
    assert not takes_softmax()
    with ls.override():
        torch.testing.assert_close(torch.mm(CSR, X), X)
        assert takes_softmax()
    assert torch.softmax.__wrapped__ is theirs
    before = len(calls)
    torch.softmax(X, 1)
    assert len(calls) == before + 1
    ls.disable()
    assert torch.softmax is theirs
    assert "StandIn" not in type(torch.mm).__name__


def test_threads_have_their_blocks_side_by_side() -> None:
    failures = []
    inside = threading.Barrier(4)

    def work() -> None:
        for _ in range(50):
            with ls.override():
                if not takes_softmax():
                    failures.append("not inside")
        inside.wait(timeout=60)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not takes_softmax()


@pytest.mark.filterwarnings("ignore")
def test_graphs_and_scripts_between_blocks_are_those_of_torch() -> None:
    for _ in range(ENOUGH):
        with ls.override():
            pass
    compiled = torch.compile(lambda x: torch.mm(x, x).relu() @ x.T, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(X), (X @ X).relu() @ X.T)
    scripted = torch.jit.script(_scripted)
    torch.testing.assert_close(scripted(X), X @ X + X.softmax(1))


def _scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.mm(x, x) + torch.softmax(x, 1)
