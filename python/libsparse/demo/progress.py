"""A progress bar for a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time

__all__ = ["Progress"]

_PLAIN_LINES = 4
_REDRAW_EVERY = 0.1  # seconds


class Progress:
    """Counts steps and shows them on stderr.

    Args:
        label: The name of the work.
        total: Number of steps.
    """

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total, self.done = label, max(total, 1), 0
        self.start = time.perf_counter()
        self.drawn = -_REDRAW_EVERY
        self.live = sys.stderr.isatty()

    def step(self, note: str = "") -> None:
        """One more step is done; `note` is shown beside the bar."""
        self.done += 1
        if not self.live:
            if self.done * _PLAIN_LINES // self.total > (self.done - 1) * _PLAIN_LINES // self.total:
                print(f"{self.label}: {100 * self.done // self.total} %  {note}", file=sys.stderr, flush=True)
            return
        now = time.perf_counter() - self.start
        if now - self.drawn < _REDRAW_EVERY and self.done < self.total:
            return
        self.drawn = now
        left = now / self.done * (self.total - self.done)
        room = max(10, min(30, shutil.get_terminal_size().columns - len(self.label) - len(note) - 24))
        filled = room * self.done // self.total
        bar = "█" * filled + "░" * (room - filled)
        end = "\n" if self.done >= self.total else ""
        print(
            f"\r\x1b[2K{self.label} {bar} {100 * self.done // self.total:3d} %  {left:4.0f} s left  {note}",
            end=end,
            file=sys.stderr,
            flush=True,
        )
