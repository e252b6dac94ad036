"""What a round's figures of a learned model warn of, as figures of their own: 1 where it is so, else 0."""

import math
from collections.abc import Mapping

COLLAPSED = 0.05  # share of log A below which a policy's entropy is that of one that has decided
WELL_ABOVE = 0.1  # share of log A by which the search's entropy is then the larger one


def find_alarms(learned: Mapping[str, float], num_actions: int) -> dict[str, float]:
    """Look at a round's learning.

    * `alarm/outside_support`: a target lay outside the support of its head.
    * `alarm/policy_collapse`: the network's policy has all but decided where the search's has not: its
      entropy is below 5 % of log A, and the search's above it by 10 % of log A or more.

    Args:
        learned: figures `learn/...` of the round; none where no step was taken.
        num_actions: A; 0 or 1: there is no such entropy to look at.
    """
    alarms = {}
    if "learn/outside_support" in learned:
        alarms["alarm/outside_support"] = float(learned["learn/outside_support"] > 0.0)
    if num_actions > 1 and "learn/policy_target_entropy" in learned:
        most = math.log(num_actions)
        entropy, search = learned["learn/policy_entropy"], learned["learn/policy_target_entropy"]
        is_collapsed = entropy < COLLAPSED * most and search >= entropy + WELL_ABOVE * most
        alarms["alarm/policy_collapse"] = float(is_collapsed)
    return alarms
