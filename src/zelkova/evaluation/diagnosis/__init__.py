"""What a learned model knows and what its search adds, measured on episodes that it plays.

* `records.py`: episodes as played, and what the search added to the prior at each decision;
* `depths.py`: the model's unrolls beside what really came, by depth; `frames.py`: pictures of an episode.
"""
