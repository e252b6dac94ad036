"""Rules of games, written once as plain functions over one record; the registry; the contract check."""

from zelkova.games.game import Game, Position
from zelkova.games.registry import load, names, refuse_inside, runs_around

__all__ = ["Game", "Position", "load", "names", "refuse_inside", "runs_around"]
