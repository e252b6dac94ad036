"""The figures of a run: metrics.jsonl, one JSON object a round, in step with the checkpoints."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from zelkova.errors import CheckpointError
from zelkova.networks.weights import write_atomically

NAME = "metrics.jsonl"


class MetricsLog:
    """A file that grows by one line a round; a line that a kill cut short does no harm."""

    def __init__(self, folder: Path) -> None:
        """Name the run's folder; nothing is written yet."""
        self.path = folder / NAME

    def append(self, metrics: Mapping[str, float]) -> None:
        """Write a round's figures.

        Args:
            metrics: with the number of its `round`; a figure that is no finite number is written as null.
        Raises:
            CheckpointError: no space or no permission.
        """
        figures = {name: round(value, 6) if math.isfinite(value) else None for name, value in metrics.items()}
        line = json.dumps(figures, allow_nan=False)
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise CheckpointError(
                f"{self.path} can't be written: {error.strerror}; every checkpoint so far is intact;"
                " next: mend this, then resume"
            ) from error

    def drop_after(self, number: int) -> int:
        """Keep the rounds up to a number, since later ones will be played again; drop what can't be read.

        Args:
            number: of the last round to keep.
        Returns:
            how many rounds were kept.
        Raises:
            CheckpointError: the file can't be written.
        """
        kept = []
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        for line in text.splitlines():
            try:
                if json.loads(line)["round"] <= number:
                    kept.append(line)
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # cut short by a kill
        write_atomically(self.path, "".join(f"{line}\n" for line in kept).encode())
        return len(kept)
