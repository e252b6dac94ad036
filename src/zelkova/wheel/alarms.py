"""What a round's figures of a learned model warn of, as figures of their own: 1 where it is so, else 0."""

import math
from collections.abc import Mapping

COLLAPSED = 0.05  # share of log A below which a policy's entropy is that of one that has decided
WELL_ABOVE = 0.1  # share of log A by which the search's entropy is then the larger one
ENDLESS = 10_000  # decisions among which some episode should have ended


def find_alarms(learned: Mapping[str, float], num_actions: int, waiting: int = 0) -> dict[str, float]:
    """Look at a round's learning, and at whether there is something to learn from.

    * `alarm/outside_support`: a target lay outside the support of its head.
    * `alarm/policy_collapse`: the network's policy has all but decided where the search's has not: its
      entropy is below 5 % of log A, and the search's above it by 10 % of log A or more.
    * `alarm/no_episode`: not one episode has ended, or was handed on as a segment, in 10,000 decisions.

    Args:
        learned: figures `learn/...` of the round; none where no step was taken.
        num_actions: A; 0 or 1: there is no such entropy to look at.
        waiting: decisions so far in a run that has not kept an episode yet; 0 where it has.
    """
    alarms = {"alarm/no_episode": 1.0} if waiting >= ENDLESS else {}
    if "learn/outside_support" in learned:
        alarms["alarm/outside_support"] = float(learned["learn/outside_support"] > 0.0)
    if num_actions > 1 and "learn/policy_target_entropy" in learned:
        most = math.log(num_actions)
        entropy, search = learned["learn/policy_entropy"], learned["learn/policy_target_entropy"]
        is_collapsed = entropy < COLLAPSED * most and search >= entropy + WELL_ABOVE * most
        alarms["alarm/policy_collapse"] = float(is_collapsed)
    return alarms
