"""Networks: PyTorch modules, the outcome distribution, weight files and inference engines.

This room knows no game and no search: it is told planes, actions and players. Nothing heavy is
imported here; import the module that has what you need:

* `config.py`, `build.py`: what network, and the module itself;
* `residual.py`, `mlp.py`: the two kinds;
* `heads.py`: auxiliary heads, for learning alone;
* `outcome.py`: from the distribution over outcomes to a value for each player;
* `weights.py`: safetensors files, written atomically and checked when read;
* `inference.py`: where and how a batch is evaluated; `speed.py`: how fast.
"""
