"""Patterns, SparseAttention and TransformerEncoderLayer beside torch's layers with dense masks."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import libsparse as ls

patterns = ls.nn.patterns
N, WIDTH, HEADS = 12, 8, 2
drawn = torch.Generator().manual_seed(0)
X = torch.randn(3, N, WIDTH, generator=drawn)
MASK = patterns.window(N, 2) | patterns.global_tokens(N, [5])


def places() -> tuple[Tensor, Tensor]:
    return torch.arange(N)[:, None], torch.arange(N)[None]


def dense(pattern: Any) -> Tensor:
    return pattern.to_dense().bool()


def test_patterns() -> None:
    i, j = places()
    assert torch.equal(dense(patterns.window(N, 3)), (i - j).abs() <= 3)
    assert torch.equal(dense(patterns.blocks(N, 5)), i // 5 == j // 5)
    assert torch.equal(dense(patterns.strided(N, 3)), (i - j) % 3 == 0)
    assert torch.equal(dense(patterns.strided(N, 50)), i == j)
    seen = torch.isin(i, torch.tensor([1, 4])) | torch.isin(j, torch.tensor([1, 4]))
    assert torch.equal(dense(patterns.global_tokens(N, [4, 1, 4])), seen)
    assert torch.equal(dense(patterns.global_tokens(N, 2)), (i < 2) | (j < 2))
    some = dense(patterns.random(N, 4, generator=drawn))
    assert some.sum(1).tolist() == [4] * N
    assert dense(patterns.random(N, N)).all()
    for made in (patterns.window(0, 2), patterns.random(5, 0), patterns.global_tokens(3, 0)):
        assert made.nnz == 0
    for made in (
        patterns.window(N, 3),
        patterns.strided(N, 3),
        patterns.global_tokens(N, [4, 1]),
        patterns.random(N, 4),
    ):
        ls.from_csr(made.crow_indices(), made.col_indices(), None, made.shape)  # which checks them
        assert made.dtype is torch.bool


def test_random_keys_are_all_as_likely() -> None:
    counts = torch.zeros(6, 6)
    for _ in range(300):
        counts += dense(patterns.random(6, 2, generator=drawn))
    assert 60 < counts.min() < counts.max() < 145  # 100 each


def test_combined_patterns() -> None:
    first, second = patterns.window(N, 3), patterns.blocks(N, 4)
    a, b = dense(first), dense(second)
    attend = ls.nn.SparseAttention(WIDTH, HEADS, first, batch_first=True)
    for mask, expected in [(first | second, a | b), (first & second, a & b), (first & ~second, a & ~b), (~(~first), a)]:
        assert torch.equal(dense(mask), expected)
        assert torch.equal(dense(patterns.entries_of(mask)), expected)
        assert patterns.entries_of(mask).nnz == int(expected.sum())
        found = attend(X, X, X, attn_mask=mask)[0]
        torch.testing.assert_close(found, attend(X, X, X, attn_mask=ls.from_mask(expected))[0])
    far = ~patterns.window(10**6, 3)
    assert far.nnz < 10**7  # what is masked is stored, not what is left
    with pytest.raises(ls.FormatError, match="combine it with another by &"):
        attend(X, X, X, attn_mask=~first)
    with pytest.raises(ls.ShapeError, match="w is -1"):
        patterns.window(3, -1)
    with pytest.raises(ls.IndexBoundsError, match="expected 0 to 11"):
        patterns.global_tokens(N, [12])
    with pytest.raises(ls.ShapeError, match="at most n"):
        patterns.random(3, 4)


def grads(module: nn.Module) -> dict[str, Tensor | None]:
    return {name: p.grad for name, p in module.named_parameters()}


def both(ours: nn.Module, theirs: nn.Module, mine: dict[str, Any], other: dict[str, Any], *given: Tensor) -> None:
    """The two have the same results and gradients of the same parameters."""
    ours.load_state_dict(theirs.state_dict())
    found = []
    for module, options in ((ours, mine), (theirs, other)):
        leaves = [each.clone().requires_grad_() for each in given]
        used = (
            [leaves[0]] * 3
            if isinstance(module, (nn.MultiheadAttention, ls.nn.SparseAttention)) and len(leaves) == 1
            else leaves
        )
        out = module(*used, **options)
        out = out[0] if isinstance(out, tuple) else out
        (out * torch.arange(out.numel()).view(out.shape).cos()).sum().backward()
        found.append((out, [leaf.grad for leaf in leaves], grads(module)))
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_attention(first: bool, bias: bool) -> None:
    made = ls.nn.SparseAttention(WIDTH, HEADS, MASK, bias=bias, batch_first=first)
    reference = nn.MultiheadAttention(WIDTH, HEADS, bias=bias, batch_first=first)
    x = X if first else X.transpose(0, 1)
    both(made, reference, {}, {"attn_mask": ~dense(MASK)}, x)
    both(made, reference, {}, {"attn_mask": ~dense(MASK)}, X[0])
    both(made, reference, {"is_causal": True}, {"attn_mask": ~dense(MASK).tril()}, x)
    short = x[:, :5] if first else x[:5]
    both(made, reference, {}, {"attn_mask": ~dense(MASK)[:5, :5]}, short)


def test_attention_to_other_sequences() -> None:
    mask = ls.random((N, 7), 0.5, generator=drawn) + ls.from_mask(torch.arange(7)[None] == torch.arange(N)[:, None] % 7)
    made = ls.nn.SparseAttention(WIDTH, HEADS, mask.with_values(None), kdim=5, vdim=3, batch_first=True)
    reference = nn.MultiheadAttention(WIDTH, HEADS, kdim=5, vdim=3, batch_first=True)
    given = X, torch.randn(3, 7, 5, generator=drawn), torch.randn(3, 7, 3, generator=drawn)
    both(made, reference, {}, {"attn_mask": ~dense(mask)}, *given)


def test_padding() -> None:
    made = ls.nn.SparseAttention(WIDTH, HEADS, MASK, batch_first=True)
    reference = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    padding = torch.zeros(3, N, dtype=torch.bool)
    padding[1, 7:] = padding[2, 0] = True  # token 5, which all see, stays
    given = {"key_padding_mask": padding}
    both(made, reference, given, {**given, "attn_mask": ~dense(MASK)}, X)
    torch.testing.assert_close(made(X[0], X[0], X[0], padding[0])[0], made(X[0], X[0], X[0])[0])
    none = made(X, X, X, torch.ones(3, N, dtype=torch.bool))[0]
    torch.testing.assert_close(none, made.out_proj.bias.expand_as(none))
    with pytest.raises(ls.ShapeError, match=r"expected bool \(3, 12\)"):
        made(X, X, X, padding[:, :4])


def test_arguments_of_attention() -> None:
    calls: list[int] = []

    def near(n: int) -> Any:
        calls.append(n)
        return patterns.window(n, 2)

    made = ls.nn.SparseAttention(WIDTH, HEADS, near, batch_first=True)
    for length in (5, 7, 5):
        made(X[:, :length], X[:, :length], X[:, :length])
    assert calls == [5, 7]
    biased = MASK.float() * torch.linspace(0, 1, N)
    plain = ls.nn.SparseAttention(WIDTH, HEADS, biased, batch_first=True)
    reference = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    added = torch.where(dense(MASK), biased.to_dense(), -torch.inf)
    both(plain, reference, {}, {"attn_mask": added}, X)
    assert plain(X, X, X, attn_mask=MASK.pattern)[0].shape == X.shape
    assert ls.nn.SparseAttention(WIDTH, HEADS, MASK, dropout=0.5)(X[0], X[0], X[0])[0].shape == X[0].shape
    with pytest.raises(ls.ShapeError, match="does not divide"):
        ls.nn.SparseAttention(9, 2, MASK)
    with pytest.raises(ls.ShapeError, match=r"expected \(12, 12\) or more"):
        ls.nn.SparseAttention(WIDTH, HEADS, patterns.window(4, 1))(X[0], X[0], X[0])
    with pytest.raises(ls.DtypeError, match="a function of the length"):
        ls.nn.SparseAttention(WIDTH, HEADS, dense(MASK))
    with pytest.raises(ls.UnsupportedError, match="sddmm"):
        made(X, X, X, need_weights=True)


def test_compiled() -> None:
    torch._dynamo.reset()
    layer = ls.nn.SparseAttention(WIDTH, HEADS, MASK, batch_first=True)
    x = X.clone()
    expected = layer(x, x, x)[0]
    expected.square().sum().backward()
    wanted = layer.in_proj_weight.grad.clone()
    layer.zero_grad()
    found = torch.compile(layer, fullgraph=True, backend="aot_eager")(x, x, x)[0]
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    torch.testing.assert_close(layer.in_proj_weight.grad, wanted)


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(norm_first: bool) -> None:
    options: Any = {
        "dim_feedforward": 16,
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": norm_first,
        "activation": "gelu",
    }
    made = ls.nn.TransformerEncoderLayer(WIDTH, HEADS, MASK, **options)
    reference = nn.TransformerEncoderLayer(WIDTH, HEADS, **options)
    both(made, reference, {}, {"src_mask": ~dense(MASK)}, X)
    stack = nn.TransformerEncoder(made, 2, enable_nested_tensor=False)
    torch.testing.assert_close(stack(X), made(made(X)))
    torch.testing.assert_close(copy.deepcopy(made)(X), made(X))


def test_trained() -> None:
    """Each token is to say what stands three places before it; the best pattern comes from the largest scores."""
    torch.manual_seed(0)
    tokens = torch.randint(4, (8, N))
    wanted = tokens.roll(3, 1)
    keys = torch.arange(N)
    nearest = (-((keys[:, None] - keys) - 3).abs().float()).topk(3)
    pattern = ls.from_topk(nearest.indices, nearest.values, N).with_values(None) | patterns.global_tokens(N, 1)
    layer = ls.nn.TransformerEncoderLayer(16, 2, pattern, dim_feedforward=32, batch_first=True, dropout=0.0)
    model = nn.ModuleDict(
        {"embed": nn.Embedding(4, 16), "place": nn.Embedding(N, 16), "layer": layer, "out": nn.Linear(16, 4)}
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        scores = model["out"](layer(model["embed"](tokens) + model["place"](keys)))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
