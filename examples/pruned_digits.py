"""A network for digits whose weights are pruned and grown while it is trained (SET and RigL).

Nine of ten weights are never stored: not in the layer, not in its gradient, not in the optimizer. The digits are drawn
from a font of 5 x 7 dots, moved, made larger, and covered with noise.
"""

from __future__ import annotations

from contextlib import ExitStack

import torch
import torch.nn.functional as F
from options import Plots, run, save

import libsparse as ls

SIDE = 20
FONT = (
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111",
    "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)


def digits(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures (count, SIDE * SIDE) and what they show."""
    glyphs = torch.tensor([[[float(dot) for dot in row] for row in glyph.split()] for glyph in FONT])
    labels = torch.randint(10, (count,))
    turn = torch.zeros(count, 2, 3)
    turn[:, 0, 0], turn[:, 1, 1] = 1.2 + 0.6 * torch.rand(count), 1.1 + 0.5 * torch.rand(count)
    turn[:, 0, 1] = 0.4 * torch.randn(count).clamp(-1, 1)  # slanted
    turn[:, :, 2] = 0.5 * (torch.rand(count, 2) - 0.5)
    places = F.affine_grid(turn, [count, 1, SIDE, SIDE], align_corners=False)
    pictures = F.grid_sample(glyphs[labels][:, None], places, align_corners=False)
    return (pictures + 0.35 * torch.randn_like(pictures)).flatten(1), labels


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    pictures, labels = digits(4000 if quick else 40_000)
    tests, answers = digits(2000)
    hidden = 256 if quick else 1024
    model = torch.nn.Sequential(
        ls.nn.SparseLinear(SIDE * SIDE, hidden, density=0.1),
        torch.nn.ReLU(),
        ls.nn.SparseLinear(hidden, hidden, density=0.1),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, 10),
    )
    sparse = (model[0], model[2])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    curve, steps = [], 0
    for epoch in range(4 if quick else 8):
        for batch in torch.randperm(len(labels)).split(128):
            optimizer.zero_grad()
            rewire = steps % 50 == 49
            with ExitStack() as watching:
                for layer in sparse if rewire else ():  # RigL: where would weights that aren't stored have gradients?
                    watching.enter_context(layer.watch())
                F.cross_entropy(model(pictures[batch]), labels[batch]).backward()
            optimizer.step()
            if rewire:
                for layer in sparse:
                    layer.grow(layer.prune(0.2, optimizer), optimizer)
            steps += 1
        with torch.no_grad():
            curve.append(float((model(tests).argmax(1) == answers).float().mean()))
        print(f"epoch {epoch}: {curve[-1]:.3f} of the digits are read")
    stored = sum(p.numel() if not isinstance(p, ls.SparseTensor) else p.nnz for p in model.parameters())
    print(f"{stored:,} parameters are stored")
    if plots:
        from matplotlib.figure import Figure

        left, right = (figure := Figure(figsize=(9, 4))).subplots(1, 2)
        left.imshow(
            pictures[:25].view(5, 5, SIDE, SIDE).permute(0, 2, 1, 3).reshape(5 * SIDE, -1).numpy(), cmap="gray_r"
        )
        left.set_title("digits")
        right.imshow(model[0].weight.detach().to_dense().abs().sum(0).view(SIDE, SIDE).numpy())
        right.set_title("where weights of the first layer lie")
        save(figure, plots, "pruned_digits")
    return {"accuracy": curve[-1], "stored": stored}


if __name__ == "__main__":
    run(main, __doc__)
