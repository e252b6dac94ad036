"""Replay: finished games, the bounded buffer over them, the targets drawn from them, their files.

This room knows no game and no network; all is NumPy, but for the loop that pads a batch's policies:

* `episode.py`: one finished game as arrays;
* `choices/`: legal actions and policies, as many numbers a position as it has legal actions;
* `config.py`, `buffer.py`: the newest positions in a bounded ring, sampled uniformly;
* `targets.py`: what the network should answer, in its own view of the seats;
* `symmetry.py`: a random symmetry for each row of a batch;
* `packing.py`: a round of games as named arrays and back, the form in which learning/ writes them down.

There is no hand-over queue: self-play plays a round, adds its games, then learning draws from them,
so nothing can pile up in between and the buffer's capacity bounds the memory.
"""
