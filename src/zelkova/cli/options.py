"""The options that several subcommands share, spelled once."""

import os
from pathlib import Path
from typing import Annotated

import typer

from zelkova.errors import LARGEST_SEED, ConfigError

Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, like search.num_simulations=64."),
]
Seed = Annotated[int | None, typer.Option(min=0, max=LARGEST_SEED, help="Seed of every random stream.")]
Size = Annotated[str | None, typer.Option(help="The one dial of a preset: tiny, small or base.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to a file.")]


def refuse_one_file(out: Path | None, json: Path | None) -> None:
    """Refuse a page and figures that would go to the same file.

    Raises:
        ConfigError: names it.
    """
    if out is not None and json is not None and os.path.realpath(out) == os.path.realpath(json):
        raise ConfigError(f"--out and --json are both {out}; next: a file for each")


def as_overrides(
    given: list[str] | None, *, seed: int | None = None, size: str | None = None, device: str | None = None
) -> list[str]:
    """Put the options that stand for settings behind those of `--set`.

    Args:
        given: what `--set` was given.
        seed: of the run.
        size: of the preset.
        device: to compute on.
    """
    named = {"seed": seed, "size": size, "device": device}
    return [*(given or []), *(f"{key}={value}" for key, value in named.items() if value is not None)]
