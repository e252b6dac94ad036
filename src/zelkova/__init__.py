"""Zelkova: describe a game once, get an agent that plans ahead, trained, measured and shipped.

The package imports nothing heavy by itself; each room is imported when it is used.
"""

__version__ = "0.1.0"
