"""Hex: each player joins two opposite sides of a board of hexagons; a draw can't happen."""
