"""Networks of a learned model: representation, dynamics and prediction, for the search's border.

* `config.py`: sizes and kinds; `support.py`: numbers as distributions over atoms;
* `network.py`: what all kinds share; `mlp.py` and `conv.py`: their parts.
"""
