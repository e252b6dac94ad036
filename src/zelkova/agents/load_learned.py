"""Describes the agent of a learned model in a checkpoint's words, and makes it again of them."""

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from zelkova.networks.learned.network import ModelSizes

if TYPE_CHECKING:
    pass


def describe_learned(sizes: ModelSizes, config: Any, acting: str) -> dict[str, str]:
    """Say in words what an agent is made of; a checkpoint carries it as metadata.

    Args:
        sizes: of the environment.
        config: the run's settings.
        acting: prefix of the tensors that act.
    """
    parts = {name: getattr(config, name) for name in ("env", "latent", "search", "planning", "unroll")}
    words = {name: json.dumps(dataclasses.asdict(part), sort_keys=True) for name, part in parts.items()}
    return {**words, "sizes": json.dumps(sizes._asdict()), "model": "learned", "acting": acting}
