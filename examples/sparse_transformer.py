"""A character model with sparse attention: a causal window and every 16th character before it.

It learns Python's own documentation, which comes with Python, and writes some of it. Scores exist only where the
pattern has entries, so a step takes time in proportion to the pattern and not to the square of the length.
"""

from __future__ import annotations

from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from options import Plots, run, save

import libsparse as ls


class Writer(torch.nn.Module):
    """Characters to scores of the next one."""

    def __init__(self, characters: int, length: int, width: int, layers: int) -> None:
        super().__init__()
        p = ls.nn.patterns
        self.pattern = (p.window(length, 16) | p.strided(length, 16)).tril()
        self.symbols = torch.nn.Embedding(characters, width)
        self.places = torch.nn.Embedding(length, width)
        self.layers = torch.nn.ModuleList(
            ls.nn.TransformerEncoderLayer(
                width, 4, self.pattern, dim_feedforward=4 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.scores = torch.nn.Linear(width, characters)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        h = self.symbols(text) + self.places.weight
        for layer in self.layers:
            h = layer(h)
        return self.scores(h)

    @torch.no_grad()
    def write(self, text: torch.Tensor, count: int) -> torch.Tensor:
        """Appends `count` characters to a text of `length`, each drawn by its score."""
        length = self.places.num_embeddings
        for _ in range(count):
            last = self(text[None, -length:])[0, -1]
            text = torch.cat([text, torch.multinomial(F.softmax(last / 0.7, 0), 1)])
        return text[length:]


def main(quick: bool = False, plots: Plots = None) -> dict[str, float]:
    torch.manual_seed(0)
    text = "\n".join(topics.values())
    alphabet = sorted(set(text))
    number = {character: n for n, character in enumerate(alphabet)}
    codes = torch.tensor([number[character] for character in text])
    length, width, steps = (64, 48, 60) if quick else (512, 128, 600)
    model = Writer(len(alphabet), length, width, 2)
    print(f"{len(text):,} characters; {model.pattern.density:.1%} of the scores are computed")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3 if quick else 1e-3)
    losses = []
    for step in range(steps):
        start = torch.randint(len(codes) - length - 1, (8,))
        batch = torch.stack([codes[n : n + length + 1] for n in start])
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 49:
            print(f"step {step + 1}: {losses[-1]:.3f} nats a character")
    print("".join(alphabet[n] for n in model.write(codes[:length], 40 if quick else 300).tolist()))
    if plots:
        from matplotlib.figure import Figure

        left, right = (figure := Figure(figsize=(9, 4))).subplots(1, 2)
        left.plot(losses)
        left.set(xlabel="step", ylabel="nats a character")
        model.pattern[:64, :64].spy(right)
        right.set_title("who sees whom (first 64 characters)")
        save(figure, plots, "sparse_transformer")
    return {"first": losses[0], "last": sum(losses[-10:]) / 10}


if __name__ == "__main__":
    run(main, __doc__)
