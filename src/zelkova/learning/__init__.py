"""Learning: losses, one optimiser step, schedules, and all that a run needs to go on exactly.

Nothing heavy is imported here; import the module that has what you need:

* `config.py`, `schedule.py`: the settings, learning rates and how many steps are due;
* `losses.py`, `learner.py`: what is minimised, and one step of it;
* `checkpoint.py`: one safetensors file for the whole state of a run, found again after a crash;
* `chunks.py`: the replay on disk, one file a round;
* `lock.py`: one run in one folder.
"""
