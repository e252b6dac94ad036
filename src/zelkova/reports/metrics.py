"""What every metric of a run means: the one source of docs/metrics.md and of the report's tables.

A name is stage/quantity_unit. `N` in a name stands for a number and `NAME` for a player's name.
"""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Metric:
    """A metric in words."""

    unit: str  # of the value
    meaning: str  # one sentence


METRICS = {
    "round": Metric(
        "count", "Turns of the wheel so far: self-play, then learning, then, now and then, rating."
    ),
    "step": Metric("count", "Optimiser steps so far."),
    "seconds": Metric("s", "Wall time of the training so far, over all its sessions."),
    "positions": Metric("count", "Positions of finished games that entered the replay so far."),
    "games": Metric("count", "Games that self-play has finished so far."),
    "selfplay/seconds": Metric("s", "Wall time of this round's self-play."),
    "selfplay/games_per_s": Metric("games/s", "Games finished in this round for each second of self-play."),
    "selfplay/positions_per_s": Metric(
        "positions/s", "Positions played in this round for each second of self-play."
    ),
    "selfplay/evaluations_per_s": Metric(
        "evaluations/s",
        "Positions that the network evaluated for each second of self-play, cache hits left out.",
    ),
    "selfplay/network_share": Metric(
        "0..1", "Share of the self-play's wall time during which at least one evaluation was running."
    ),
    "selfplay/cache_hits": Metric(
        "0..1", "Share of the positions asked for which were answered without the network."
    ),
    "selfplay/game_length": Metric("moves", "Mean length of the games that finished in this round."),
    "selfplay/win_share_seatN": Metric(
        "0..1", "Share of this round's games that the player of seat N won alone; seat 0 moves first."
    ),
    "selfplay/seat_chi_square": Metric(
        "1",
        "How far this round's wins by seat are from equal: sum of (wins - mean)^2 / mean over the seats. With"
        " equal seats it is below 3.8 (two players) or 6.0 (three) in 95 % of the rounds.",
    ),
    "selfplay/episode_return": Metric(
        "rewards", "Mean sum of rewards of the episodes, or parts of such, that environments finished."
    ),
    "selfplay/episode_length": Metric("decisions", "Mean length of the same."),
    "selfplay/draw_share": Metric("0..1", "Share of this round's games in which the best return was shared."),
    "learn/loss": Metric(
        "nats",
        "Sum of policy and value loss, and of those of auxiliary heads, with their weights, which the"
        " optimiser lowers.",
    ),
    "learn/policy_loss": Metric(
        "nats", "Mean cross-entropy of the network's policy against the search's action weights."
    ),
    "learn/policy_entropy": Metric(
        "nats", "Mean entropy of the network's policy over legal actions; it falls as play becomes decided."
    ),
    "learn/policy_target_entropy": Metric(
        "nats", "Mean entropy of the search's action weights; the policy loss can't go below it."
    ),
    "learn/policy_agreement": Metric(
        "0..1", "Share of positions in which network and search like the same action best."
    ),
    "learn/value_loss": Metric(
        "nats", "Mix of outcome and root-value loss, by the share set for the value target."
    ),
    "learn/outcome_loss": Metric(
        "nats", "Mean cross-entropy of the network's distribution over outcomes against how the game ended."
    ),
    "learn/root_value_loss": Metric(
        "squared share",
        "Mean squared error of the network's value against the search's root value, summed over the seats.",
    ),
    "learn/value_accuracy": Metric(
        "0..1", "Share of positions in which the likeliest outcome is the one that came."
    ),
    "learn/unseen_accuracy": Metric(
        "0..1",
        "The same by the weights that act, in games that ended in this round, which the network has not"
        " learnt from yet; far below `learn/seen_accuracy`, it memorises.",
    ),
    "learn/unseen_early_accuracy": Metric("0..1", "The same in the first third of those games."),
    "learn/seen_accuracy": Metric(
        "0..1",
        "The same by the same weights in positions drawn from the replay, most of which it has learnt from.",
    ),
    "learn/seen_early_accuracy": Metric("0..1", "The same in the first third of those games."),
    "alarm/memorising": Metric(
        "0 or 1",
        "The mean of the last 5 rounds or more, with 200 new games in them, of `learn/seen_accuracy` less"
        " `learn/unseen_accuracy`, or of the same in the first thirds of games, is above 10 points: the"
        " network knows by heart who won the games it learns from; raise learning.value_mix (towards 1: less"
        " of who won, more of what the search thought) or replay.capacity, or lower"
        " learning.samples_per_position.",
    ),
    "learn/rank_loss": Metric(
        "nats", "Of an auxiliary head: mean cross-entropy of each seat's place at the end."
    ),
    "learn/next_eliminated_loss": Metric(
        "nats", "Of an auxiliary head: mean cross-entropy of the seat that falls next, or none."
    ),
    "learn/final_material_loss": Metric(
        "nats",
        "Of an auxiliary head: mean cross-entropy of the seats' shares of the material at the end; it can't"
        " go below the entropy of these shares.",
    ),
    "learn/plies_left_loss": Metric(
        "squared log",
        "Of an auxiliary head: mean Huber loss of log(1 + moves to the end), half the squared error below 1.",
    ),
    "learn/value_error": Metric(
        "share",
        "Mean distance of the network's value from its target; a share is of the game's return range.",
    ),
    "learn/reward_loss": Metric(
        "nats", "Of a learned model: mean cross-entropy of rewards, or sums of such, against those that came."
    ),
    "learn/consistency_loss": Metric(
        "0..2", "Of a learned model: 1 less the cosine of unrolled latents and those of what was observed."
    ),
    "learn/turn_loss": Metric("nats", "Of a learned model: mean cross-entropy of whose turn it is."),
    "learn/entropy_bonus": Metric("nats", "Of a learned model: the policy's entropy with its sign turned."),
    "learn/value_target": Metric("rewards", "Of a learned model: mean of the value targets."),
    "learn/outside_support": Metric(
        "count", "Targets of a batch that the heads' supports can't hold; above 0, widen them."
    ),
    "alarm/outside_support": Metric(
        "0 or 1",
        "Of a learned model: a target of this round lay outside the heads' supports, where it is clipped;"
        " widen latent.value_limit or latent.reward_limit in a new run.",
    ),
    "alarm/policy_collapse": Metric(
        "0 or 1",
        "Of a learned model: the policy's entropy is below 5 % of log A while the search's is above it by"
        " 10 % of log A or more; raise loss.entropy_weight or root noise, or lower the learning rate.",
    ),
    "alarm/no_episode": Metric(
        "0 or 1",
        "Of a learned model, and told only while it is so: no episode has ended in the first 10,000"
        " decisions, so that there is nothing to learn from; set unroll.segment = 200, say, which hands on"
        " parts, or env.max_episode_steps.",
    ),
    "learn/gradient_norm": Metric("1", "Length of the gradient before it is clipped."),
    "learn/learning_rate": Metric("1", "Mean learning rate of the round's optimiser steps."),
    "learn/seconds": Metric("s", "Wall time of this round's learning."),
    "learn/samples_per_s": Metric(
        "samples/s", "Training samples that were learnt from for each second of learning."
    ),
    "replay/positions": Metric("count", "Positions in the replay, from which batches are drawn."),
    "eval/score_NAME": Metric(
        "0..1",
        "Mean score against a fixed opponent with colours balanced: a win 1, a draw 0.5 between two players.",
    ),
    "eval/elo": Metric(
        "Elo",
        "Rating from the games against the fixed opponents; the first, random play by default, is 0.",
    ),
    "eval/return": Metric(
        "game's range",
        "Mean return, in a game for one player; there a score is the share of the pairs of games in which the"
        " run's return is the higher one.",
    ),
    "eval/return_error": Metric(
        "rewards", "Standard error of `eval/return` over the episodes of an environment."
    ),
    "eval/return_worst": Metric("rewards", "Return of the worst of them."),
    "eval/episode_length": Metric("decisions", "Their mean length."),
    "eval/elo_low": Metric("Elo", "Lower end of the rating's 95 % interval."),
    "eval/elo_high": Metric("Elo", "Upper end of the rating's 95 % interval."),
    "eval/seconds": Metric("s", "Wall time of this round's rating games."),
    "save/seconds": Metric(
        "s", "Wall time of the saving of checkpoint and replay since the last round's line."
    ),
    "diagnosis/episodes": Metric("count", "Episodes that a report's diagnosis played, without noise."),
    "diagnosis/decisions": Metric("count", "Decisions in them."),
    "diagnosis/cut_episodes": Metric("count", "Those that the diagnosis cut."),
    "diagnosis/return": Metric("rewards", "Mean sum of rewards of them, cut ones as far as they got."),
    "diagnosis/search_gain": Metric(
        "rewards",
        "Mean over decisions of the sum over actions of (search's weight - prior) * completed Q, for the"
        " player to move.",
    ),
    "diagnosis/choice_gain": Metric(
        "rewards",
        "Mean of the completed Q of what was played less that of the prior, for the player to move.",
    ),
    "diagnosis/changed_choices": Metric(
        "0..1", "Share of decisions in which the prior likes another action better than the one played."
    ),
    "diagnosis/latent_distance": Metric(
        "1", "Mean distance of the latents of unrelated observations; 0: all are alike."
    ),
}
"""Each metric that a training run writes, and those that a report's diagnosis measures."""

_OPEN = "eval/score_"
ALARM = "alarm/"


@cache
def find_metric(name: str) -> Metric | None:
    """Find what a metric means; None where it is not one of ours.

    Args:
        name: as written in metrics.jsonl, such as `eval/score_uct_1000`.
    """
    if name.startswith(_OPEN) and len(name) > len(_OPEN):
        return METRICS["eval/score_NAME"]
    return METRICS.get(name) or METRICS.get(re.sub(r"seat\d+$", "seatN", name))


def show_opponent(name: str) -> str:
    """Write the opponent of an `eval/score_` metric as players are named: `uct:1000`."""
    budget = r"^(uct|scaffold|maxn|paranoid|alphabeta)_(\d+)$"
    return re.sub(budget, r"\1:\2", name.removeprefix(_OPEN))


def as_markdown() -> str:
    """Write docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "A run writes one line a round into `metrics.jsonl`: a JSON object of the names below. What was not",
        "measured in a round is not in its line. `zelkova report RUN` draws them; its tables and this page",
        "come from one source, `src/zelkova/reports/metrics.py`. Those of `diagnosis/` stand in no line: the",
        "report of a learned model measures them ([how to read them](algorithms/muzero.md#diagnosis)).",
        "",
        "`N` stands for a number, `NAME` for an opponent (`random`, or `uct_1000` for `uct:1000`).",
        "",
        "| metric | unit | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| `{name}` | {metric.unit} | {metric.meaning} |" for name, metric in METRICS.items()]
    return "\n".join(lines) + "\n"
