"""An inverse problem: which conductivities of a network explain the temperatures that are measured?

Temperatures solve a linear equation whose sparse matrix depends on the unknowns. `ls.linalg.solve` has gradients in the
stored values of the matrix, by the adjoint equation, so that torch's optimizers can look for them.
"""

from __future__ import annotations

import torch
from options import Plots, run, save

import libsparse as ls


class Network:
    """Places of a grid and the links between neighbours; the border is kept at 0."""

    def __init__(self, side: int) -> None:
        place = torch.arange(side * side).view(side, side)
        pairs = [(place[:, :-1], place[:, 1:]), (place[:-1], place[1:])]
        self.ends = torch.cat([torch.stack([a.flatten(), b.flatten()]) for a, b in pairs], 1)
        links = torch.arange(self.ends.shape[1])
        ones = torch.ones(len(links), dtype=torch.float64)
        columns = [ls.from_coo(torch.stack([links, end]), ones, (len(links), side * side)) for end in self.ends]
        self.difference = columns[0] - columns[1]  # (links, places): what flows through a link, over its conductivity
        border = torch.ones(side, side, dtype=torch.float64)
        border[1:-1, 1:-1] = 0
        self.held = ls.diag(100 * border.flatten())

    def temperatures(self, conductivity: torch.Tensor, sources: torch.Tensor) -> torch.Tensor:
        """Temperatures (places, cases) for heat sources (places, cases)."""
        laplacian = self.difference.T @ (self.difference * conductivity[:, None]) + self.held
        return ls.linalg.solve(laplacian, sources, rtol=1e-9)


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    side = 10 if quick else 24
    network = Network(side)
    middle = network.ends.double().mean(0)
    row, column = middle // side / side, middle % side / side
    true = 1 + 4 * torch.exp(-30 * ((row - 0.3) ** 2 + (column - 0.6) ** 2))
    sources = torch.zeros(side * side, 12, dtype=torch.float64)
    sources[torch.randint(side * side, (12,)), torch.arange(12)] = 1.0
    measured = network.temperatures(true, sources)
    guess = torch.zeros_like(true).requires_grad_()
    optimizer = torch.optim.Adam([guess], lr=0.05)
    losses = []
    for _ in range(60 if quick else 300):
        optimizer.zero_grad()
        found = network.temperatures(guess.exp(), sources)  # conductivities are positive
        loss = ((found - measured) / measured.abs().clamp(min=1e-6)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"misfit {losses[0]:.2e} to {losses[-1]:.2e}")
    if plots:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12, 3.6))
        axes = figure.subplots(1, 3)
        axes[0].semilogy(losses)
        axes[0].set(xlabel="step", ylabel="misfit")
        for ax, (title, values) in zip(axes[1:], {"true": true, "found": guess.detach().exp()}.items(), strict=True):
            drawn = ax.scatter(column, -row, c=values, vmin=1, vmax=5, s=12)
            ax.set_title(f"conductivity, {title}")
        figure.colorbar(drawn, ax=axes[2])
        save(figure, plots, "conductivity")
    return {"first": losses[0], "last": losses[-1]}


if __name__ == "__main__":
    run(main, __doc__)
