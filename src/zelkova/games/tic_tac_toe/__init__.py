"""Tic-tac-toe: three in a row on a board of three by three."""
