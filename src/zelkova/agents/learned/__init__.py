"""Agents without the rules: a network of learned dynamics behind the search's border.

* `model.py`: root and step functions over a network; `agent.py`: searches from observations;
* `config.py`: which actions are drawn; `load.py`: an agent in a checkpoint's words, and back.
"""
