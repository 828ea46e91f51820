"""LightGCN: recommending items to users by the graph of what they liked.

The ratings are generated: users and items have hidden tastes and kinds, and popular items are liked by many. A fifth of
each user's items is held out; recall counts how many of these are among the 20 that the model scores highest.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from options import Plots, run, save

import libsparse as ls

TOP = 20


def ratings(users: int, items: int, kinds: int = 8) -> torch.Tensor:
    """Pairs (2, count) of users and items that they liked."""
    taste = torch.distributions.Dirichlet(torch.full((kinds,), 0.15)).sample((users,))
    kind = torch.randint(kinds, (items,))
    popularity = 1 / (1 + torch.randperm(items).float()) ** 0.6
    chosen = torch.multinomial(taste[:, kind] * popularity + 1e-9, 30)
    return torch.stack([torch.arange(users).repeat_interleave(30), chosen.flatten()])


def recall(scores: torch.Tensor, seen: ls.SparseTensor, held: ls.SparseTensor) -> float:
    """The share of held-out items among the best that the user has not seen."""
    scores = scores.masked_fill(seen.to_dense() > 0, -torch.inf)
    best = ls.from_topk(scores.topk(TOP).indices, torch.ones(len(scores), TOP), scores.shape[1])
    return float((best * held).sum() / held.sum())


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    users, items = (500, 300) if quick else (4000, 2000)
    pairs = ratings(users, items)
    kept = torch.rand(pairs.shape[1]) < 0.8
    seen, held = (ls.from_coo(p, torch.ones(p.shape[1]), (users, items)) for p in (pairs[:, kept], pairs[:, ~kept]))
    graph = ls.from_coo(
        torch.cat(
            [pairs[:, kept] + torch.tensor([[0], [users]]), (pairs[:, kept] + torch.tensor([[0], [users]])).flip(0)], 1
        ),
        torch.ones(2 * int(kept.sum())),
        (users + items, users + items),
        format="csr",
    )
    model = ls.nn.LightGCN(users + items, 32, num_layers=2, cached=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    user, item = pairs[:, kept]
    curve = []
    for epoch in range(30 if quick else 100):
        optimizer.zero_grad()
        vectors = model.get_embedding(graph)
        other = torch.randint(items, item.shape)
        better = (vectors[user] * (vectors[users + item] - vectors[users + other])).sum(1)
        F.softplus(-better).mean().backward()  # Bayesian personalised ranking
        optimizer.step()
        if epoch % 5 == 4:
            with torch.no_grad():
                vectors = model.get_embedding(graph)
                curve.append(recall(vectors[:users] @ vectors[users:].T, seen, held))
    popular = recall(seen.sum(0).expand(users, items), seen, held)
    print(f"recall at {TOP}: {curve[-1]:.3f}; by popularity alone {popular:.3f}")
    if plots:
        from matplotlib.figure import Figure

        axes = (figure := Figure(figsize=(6, 4))).subplots()
        axes.plot(range(4, 5 * len(curve), 5), curve, label="LightGCN")
        axes.axhline(popular, color="gray", linestyle="--", label="most popular items")
        axes.set(xlabel="epoch", ylabel=f"recall at {TOP}", title=f"{users:,} users, {items:,} items")
        axes.legend()
        save(figure, plots, "recommender")
    return {"recall": curve[-1], "popular": popular}


if __name__ == "__main__":
    run(main, __doc__)
