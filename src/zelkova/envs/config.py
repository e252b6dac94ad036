"""Which environment is made, as one frozen dataclass."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from zelkova.errors import ConfigError

REST = {"rest": True}
GOES_ON = "goes_on"  # in the infos of a reset: it went on with the game that was played before


@dataclass(frozen=True)
class EnvConfig:
    """A Gymnasium environment and how it is seen; other keys go to `gymnasium.make`.

    Raises:
        ConfigError: a number out of range, or an unknown word.
    """

    id: str = ""  # as Gymnasium names it; empty: the game of the run, whose rules the search is not told
    observation: str = ""  # of a dict observation: the one key that is seen; empty: all of them, flattened
    mask: str = "action_mask"  # key of the legal actions, in a dict observation or in the infos
    layout: Literal["flat", "hwc", "chw"] = "flat"  # of observations: flattened, or images with this order
    max_episode_steps: int = 0  # time limit in place of its own, of Atari in frames; 0: its own
    action_low: float = -float("inf")  # limits of unbounded continuous actions
    action_high: float = float("inf")
    reward_clip: Literal["none", "sign"] = "none"  # rewards in training; evaluation gets them as they are
    frame_stack: int = 1  # newest observations seen together
    atari: bool = False  # preprocessing of Atari games: 96x96, frame skip 4, max over frames, no-ops
    grey: bool = True  # Atari: False: in colour, three planes an image, layout = "hwc"
    episode: Literal["game", "life"] = "game"  # Atari in training; life: it ends where a life is lost
    make: Mapping[str, object] = field(default_factory=dict, metadata=REST)  # arguments of gymnasium.make

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        for key, value in self.make.items():
            try:
                json.dumps(value)
            except TypeError as error:
                raise ConfigError(
                    f"env.{key} is {value}; allowed: numbers, words, true or false, lists and tables of these"
                ) from error
        mode = self.make.get("render_mode", "rgb_array")
        if mode != "rgb_array":
            windows = ", which opens windows" if mode == "human" else ""
            raise ConfigError(
                f"env.render_mode is `{str(mode)[:40]}`{windows}; allowed: rgb_array; next: leave it out, and"
                " zelkova report films an episode"
            )
        for name, words in (
            ("layout", ("flat", "hwc", "chw")),
            ("reward_clip", ("none", "sign")),
            ("episode", ("game", "life")),
        ):
            if getattr(self, name) not in words:
                raise ConfigError(f"env.{name} is {getattr(self, name)!r}; allowed: {', '.join(words)}")
        for name, least in (("max_episode_steps", 0), ("frame_stack", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"env.{name} is {getattr(self, name)}; allowed: {least} or more")
        if not self.atari and (not self.grey or self.episode == "life"):
            raise ConfigError(
                "env.grey = false and env.episode = life are for Atari games; next: set env.atari = true"
            )
        if not self.action_low < self.action_high:
            raise ConfigError(
                f"env.action_low = {self.action_low} and env.action_high = {self.action_high};"
                " allowed: the first below the second"
            )
