"""Environments: Gymnasium's by name, and games as environments, in batches that step together.

* `config.py`: what is made; `make.py`: makes it; `spaces.py`: observations and actions as arrays;
* `batch.py`: B environments in lockstep; `game_env.py`: the same for a game.
"""
