"""Zelkova: describe a game once, get an agent that plans ahead, trained, measured and shipped.

The package imports nothing heavy by itself; each room is imported when it is used. The one thing done
here is to choose where compiled code is kept, since Numba must know before it is imported.
"""

from zelkova import compile_cache

__version__ = "0.1.0"

COMPILED = compile_cache.choose_place(__version__)
"""The folder of compiled code, for this user alone; None where nothing can be kept."""
