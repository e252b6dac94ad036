"""Gymnasium's spaces as arrays: actions by index or in -1..1, observations flat or as planes.

An action is an index 0..A-1 everywhere inside; the environment's own numbering exists at this border alone.
"""

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.envs.config import EnvConfig
from zelkova.errors import ConfigError, EnvError, require_memory

MOST_JOINT_ACTIONS = 100_000
MOST_ACTIONS = 1_000_000  # of one number; every decision keeps a weight for each


class ActionMap(Protocol):
    """Turns what the agent picks into what an environment takes."""

    num_actions: int  # A; 0: continuous
    action_dim: int  # D; 0: numbered

    def __call__(self, action: Any) -> Any:
        """Give the environment's action for an index, or for a vector in -1..1."""


class Numbered:
    """Discrete(n, start), whose first action may have any number."""

    def __init__(self, space: Any) -> None:
        self.num_actions, self.action_dim = int(space.n), 0
        self._start = int(space.start)

    def __call__(self, action: Any) -> Any:
        """Add the space's first number."""
        _refuse_outside(action, self.num_actions)
        return int(action) + self._start


class Joint:
    """MultiDiscrete or MultiBinary: an index stands for a choice in each dimension, the last one fastest."""

    def __init__(self, counts: NDArray[np.int64], start: NDArray[np.int64], dtype: Any) -> None:
        self.num_actions, self.action_dim = math.prod(counts.ravel().tolist()), 0
        self._counts, self._start, self._dtype = counts, start, dtype

    def __call__(self, action: Any) -> Any:
        """Take an index apart."""
        _refuse_outside(action, self.num_actions)
        choices = np.unravel_index(int(action), self._counts.ravel())
        return (np.array(choices).reshape(self._counts.shape) + self._start).astype(self._dtype)


def _refuse_outside(action: Any, num_actions: int) -> None:
    """Refuse an index that stands for no action.

    Raises:
        EnvError: it is not one of 0..A-1.
    """
    if not 0 <= int(action) < num_actions:
        raise EnvError(f"it is given the action {action}; allowed: 0 to {num_actions - 1}")


class Continuous:
    """A bounded Box: -1 is its lowest, 1 its highest; whole numbers are rounded."""

    def __init__(self, space: Any, config: EnvConfig, name: str) -> None:
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        low, high = np.maximum(low, config.action_low), np.minimum(high, config.action_high)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise ConfigError(
                f"{name} has the actions {space}, which have no limits; next: set env.action_low and"
                " env.action_high"
            )
        self.num_actions, self.action_dim = 0, int(np.prod(space.shape))
        if not self.action_dim or (high < low).any():
            raise ConfigError(
                f"{name} has the actions {space} between {low} and {high}; there is none to take"
            )
        self._low, self._high, self._space = low, high, space

    def __call__(self, action: Any) -> Any:
        """Stretch a vector from -1..1 to the limits.

        Raises:
            EnvError: it has another size, or a number that is none.
        """
        vector = np.asarray(action, np.float64)
        if vector.size != self.action_dim or np.isnan(vector).any():
            raise EnvError(f"it is given the action {vector.tolist()}; allowed: {self.action_dim} numbers")
        share = (np.clip(vector.reshape(self._low.shape), -1.0, 1.0) + 1.0) / 2.0
        with np.errstate(over="ignore"):
            range_ = self._high - self._low
        if np.isfinite(range_).all():
            scaled = self._low + share * range_
        else:  # limits as far apart as numbers go
            scaled = self._low * (1.0 - share) + self._high * share
        if np.issubdtype(self._space.dtype, np.integer):
            scaled = np.rint(scaled)
        return np.clip(scaled, self._low, self._high).astype(self._space.dtype)


def action_map(space: Any, config: EnvConfig, name: str) -> ActionMap:
    """Find how a space's actions are taken.

    Args:
        space: of the environment.
        config: limits of unbounded actions.
        name: of the environment, for errors.
    Raises:
        ConfigError: no agent here can act in the space; the message says why.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        if space.n > MOST_ACTIONS:
            raise ConfigError(f"{name} has the actions {space}; allowed: up to {MOST_ACTIONS}")
        return Numbered(space)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        is_binary = isinstance(space, spaces.MultiBinary)
        counts = np.full(space.shape, 2) if is_binary else np.asarray(space.nvec)  # type: ignore[union-attr]
        start = np.zeros_like(counts) if is_binary else np.asarray(space.start)  # type: ignore[union-attr]
        if math.prod(counts.ravel().tolist()) > MOST_JOINT_ACTIONS:
            raise ConfigError(
                f"{name} has the actions {space}: more than {MOST_JOINT_ACTIONS} joint ones; allowed: fewer"
            )
        return Joint(counts.astype(np.int64), start.astype(np.int64), space.dtype)
    if isinstance(space, spaces.Box):
        return Continuous(space, config, name)
    raise ConfigError(f"{name} has the actions {space}; allowed: Discrete, MultiDiscrete, MultiBinary or Box")


class ObservationMap:
    """Turns an environment's observations into arrays of one shape, and finds the mask of legal actions."""

    def __init__(self, space: Any, config: EnvConfig, num_actions: int, name: str) -> None:
        """Decide what is seen.

        Args:
            space: of the observations.
            config: key, mask and layout.
            num_actions: A.
            name: of the environment, for errors.
        Raises:
            ConfigError: a key is not there, or an observation that can't be an array.
        """
        from gymnasium import spaces

        self._config, self._name, self._num_actions = config, name, num_actions
        self._has_mask = False
        self._is_dict = isinstance(space, spaces.Dict)
        if isinstance(space, spaces.Dict):
            self._has_mask = config.mask in space.spaces and bool(num_actions)
            rest = {
                key: part for key, part in space.spaces.items() if not (self._has_mask and key == config.mask)
            }
            if config.observation and config.observation not in rest:
                raise ConfigError(
                    f"{name} has no observation `{config.observation}`; known: {', '.join(rest)};"
                    " next: set env.observation to one of them"
                )
            space = rest[config.observation] if config.observation else spaces.Dict(rest)
        self._space = space
        self.dtype: np.dtype[Any] = np.dtype(np.float32)
        if config.layout == "flat":
            self.shape = self._flat_shape()
        else:
            images = (2, 3) if config.frame_stack == 1 else (3, 4)
            if not isinstance(space, spaces.Box) or len(space.shape) not in images:
                raise ConfigError(
                    f"{name} is seen with env.layout = {config.layout} and has the observations {space};"
                    " allowed: images; next: env.layout = flat"
                )
            self.shape = self._planes(np.zeros(space.shape, space.dtype)).shape
            if space.dtype == np.uint8:
                self.dtype = np.dtype(np.uint8)
        if not math.prod(self.shape):
            raise ConfigError(f"{name} has the observations {space}, in which there is nothing to see")

    def _flat_shape(self) -> tuple[int, ...]:
        from gymnasium import error, spaces

        try:
            width = int(spaces.flatdim(self._space))
        except (NotImplementedError, ValueError, TypeError, error.Error) as reason:
            raise ConfigError(
                f"{self._name} has observations that can't be numbers: {self._space}; next: name the part to"
                " see with env.observation"
            ) from reason
        require_memory(8 * width, f"one observation of {self._name}, {width} numbers,")
        return (width,)

    def _planes(self, image: NDArray[Any]) -> NDArray[Any]:
        """Give the planes [C, H, W] of an image, or of a stack of images: the oldest image's first."""
        if self._config.frame_stack > 1:
            return np.concatenate([self._image_planes(frame) for frame in image])
        return self._image_planes(image)

    def _image_planes(self, image: NDArray[Any]) -> NDArray[Any]:
        if image.ndim == 2:
            return image[None]
        return np.moveaxis(image, -1, 0) if self._config.layout == "hwc" else image

    def __call__(
        self, observation: Any, info: Mapping[str, Any] | None = None, is_final: bool = False
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Give an observation as an array, and the mask bool[A].

        Args:
            observation: as the environment gave it.
            info: beside it; its mask holds where the observation has none.
            is_final: the episode ended: nothing need be legal.
        Raises:
            EnvError: another shape than announced, a number that is not finite, or an empty mask.
        """
        from gymnasium import spaces

        legal = np.ones(max(self._num_actions, 1), np.bool_)
        if not self._has_mask and self._num_actions and info and self._config.mask in info:
            legal = self._read_mask(np.asarray(info[self._config.mask]), is_final)
        if self._is_dict:
            if self._has_mask:
                mask = np.asarray(observation[self._config.mask])
                legal = self._read_mask(mask[-1] if self._config.frame_stack > 1 else mask, is_final)
            if self._config.observation:
                observation = observation[self._config.observation]
            elif self._has_mask:
                observation = {key: part for key, part in observation.items() if key != self._config.mask}
        if isinstance(self._space, spaces.Box) and np.shape(observation) != self._space.shape:
            raise EnvError(
                f"it gives an observation of shape {np.shape(observation)};"
                f" its space says {self._space.shape}"
            )
        array = (
            self._flatten(observation)
            if self._config.layout == "flat"
            else self._planes(np.asarray(observation))
        )
        if array.shape != self.shape:
            raise EnvError(f"it gives an observation of shape {array.shape}; its space says {self.shape}")
        return self._as_dtype(array), legal

    def _as_dtype(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy what is seen as bytes or as float32.

        Raises:
            EnvError: no number, one that is not finite, or one that is no byte.
        """
        if array.dtype.kind not in "biufO":
            raise EnvError(f"it gives an observation of {array.dtype}; allowed: numbers")
        with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is refused below
            seen = array.astype(self.dtype)
        if seen.dtype == np.float32 and not np.isfinite(seen).all():
            raise EnvError(f"it gives the observation {seen.ravel()[:8].tolist()}; allowed: finite numbers")
        if seen.dtype == np.uint8 and array.dtype != np.uint8 and not np.array_equal(seen, array):
            wrong = array[seen != array]
            raise EnvError(f"it gives the observation {wrong[:8].tolist()}; allowed: whole numbers 0 to 255")
        return seen

    def _read_mask(self, mask: NDArray[Any], is_final: bool) -> NDArray[np.bool_]:
        """Give a mask as bool[A]."""
        if mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
            raise EnvError(
                f"its mask `{self._config.mask}` is {mask.dtype}{mask.ravel()[:8].tolist()}; allowed: 1 for"
                f" legal and 0 for illegal, for each of {self._num_actions} actions"
            )
        legal = mask.astype(np.bool_).ravel()
        if legal.shape != (self._num_actions,) or not (is_final or legal.any()):
            raise EnvError(
                f"its mask `{self._config.mask}` allows {int(legal.sum())} of {len(legal)} actions;"
                f" allowed: one or more of {self._num_actions}"
            )
        return legal

    def _flatten(self, observation: Any) -> NDArray[Any]:
        from gymnasium import spaces

        if isinstance(self._space, spaces.Box):
            return np.asarray(observation).ravel()
        try:
            _refuse_below(self._space, observation)
            return np.asarray(spaces.flatten(self._space, observation)).ravel()
        except (ValueError, KeyError, TypeError, IndexError, AssertionError) as reason:
            raise EnvError(
                f"it gives the observation {observation!r:.100}, which is not of {self._space}"
            ) from reason


def _refuse_below(space: Any, observation: Any) -> None:
    """Refuse a choice below a space's first, which would be counted from the last one.

    Raises:
        ValueError: there is one.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete) and observation < space.start:
        raise ValueError(f"{observation} is below {space.start}")
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            _refuse_below(part, observation[key])
    if isinstance(space, spaces.Tuple):
        for part, seen in zip(space.spaces, observation, strict=True):
            _refuse_below(part, seen)
