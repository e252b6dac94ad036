import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.reports.test_page import EVIL, Outline
from tests.reports.test_run import make_run

from zelkova.reports import film
from zelkova.reports.curves import choose_charts
from zelkova.reports.diagnosis import Findings, choose_diagnosis, describe_findings
from zelkova.reports.film import write_gif
from zelkova.reports.page import make_page
from zelkova.reports.run import read_run
from zelkova.reports.summary import summarise

LEARNED = 'model = "learned"\n[env]\nid = "CartPole-v1"\n'
NAN = float("nan")


def findings(**changed: Any) -> Findings:
    fields: dict[str, Any] = {
        "figures": {
            "diagnosis/search_gain": 0.25,
            "diagnosis/choice_gain": 0.5,
            "diagnosis/changed_choices": 0.125,
        },
        "by_depth": {
            "value_predicted": np.array([3.0, 3, NAN]),
            "value_real": np.array([2.0, 4, NAN]),
            "value_error": np.array([1.5, 2.5, NAN]),
            "value_spread": np.array([7.0, 7, NAN]),
            "reward_error": np.array([NAN, NAN, NAN]),
            "drift": np.array([0.0, 0.5, 0.75]),
        },
        "by_decision": {"policy": np.array([0.1, 0.2]), "choice": np.array([0.3, 0.4])},
        "unroll_steps": 1,
        "about": "what was played",
    }
    return Findings(**{**fields, **changed})


def test_the_findings_in_words() -> None:
    assert describe_findings(findings(remarks=("a remark",))) == [
        "what was played",
        "Values are off by 1.5 at depth 0, 2.5 at depth 1; always saying the mean is off by 7.",
        "Latents drift from those of what was really seen by 0.5 after 1, 0.75 after 2 steps, where 1 is the"
        " distance of unrelated observations.",
        "By its own Q, the search's policy is worth 0.25 more than the prior, and what it plays 0.5 more; in"
        " 12.5 % of decisions the prior liked another action best.",
        "a remark",
    ]


def test_the_charts_hold_what_was_measured_and_no_more() -> None:
    charts = {chart.title: chart for chart in choose_diagnosis(findings())}
    assert list(charts) == [
        "Value along an unroll (trained to 1)",
        "Error of the value",
        "Drift of the latent (trained to 1)",
        "What the search adds to the prior",
    ]
    model, mean = charts["Error of the value"].curves
    assert (model.label, model.x.tolist(), model.y.tolist()) == ("the model", [0, 1], [1.5, 2.5])
    assert mean.y.tolist() == [7, 7]
    assert choose_diagnosis(findings(by_depth={}, by_decision={})) == []


def test_the_page_shows_the_diagnosis_and_its_film(tmp_path: Path) -> None:
    gif = write_gif([np.full((4, 6, 3), 100 * shade, np.uint8) for shade in range(3)])
    run = read_run(make_run(tmp_path / "run", [{"round": 1}], LEARNED))
    page = make_page(run, findings(film=gif, film_about=EVIL, about=EVIL))
    outline = Outline(page)
    assert EVIL in outline.texts
    (image,) = [attributes for tag, attributes in outline.tags if tag == "img"]
    assert image["alt"] == EVIL
    found = re.fullmatch(r"data:image/gif;base64,(.*)", str(image["src"]))
    assert found is not None
    assert base64.b64decode(found[1]) == gif
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    page = make_page(run, findings(film_about="it gives no pictures"))
    assert "it gives no pictures" in page
    assert "<img" not in page


def test_a_film_keeps_its_pictures_and_is_no_wider_than_said() -> None:
    frames = [np.full((100, 480, 3), 20 * shade, np.uint8) for shade in range(5)]
    image = Image.open(io.BytesIO(write_gif(frames)))
    assert (image.format, image.size, getattr(image, "n_frames", 1)) == ("GIF", (240, 50), 5)


def test_a_film_that_is_too_large_loses_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (40, 40, 3)).astype(np.uint8) for _ in range(8)]
    whole = write_gif(frames)
    monkeypatch.setattr(film, "MOST_BYTES", len(whole) // 2 + 500)
    image = Image.open(io.BytesIO(write_gif(frames, 50)))
    assert getattr(image, "n_frames", 1) == 4
    assert image.info["duration"] == 100


def test_a_learned_run_has_its_curves(tmp_path: Path) -> None:
    lines = [
        {
            "round": number, "eval/return": 10.0 * number, "eval/return_error": 2.0,
            "selfplay/episode_return": 5.0 * number, "learn/policy_loss": 1.0, "learn/reward_loss": 0.5,
            "learn/consistency_loss": 0.1, "learn/outside_support": 3.0,
        }
        for number in (1, 2)
    ]  # fmt: skip
    run = read_run(make_run(tmp_path / "run", lines, LEARNED))
    charts = {chart.title: chart for chart in choose_charts(run)}
    rated, training = charts["Mean return, with its standard error"].curves
    assert rated.low is not None
    assert rated.high is not None
    assert (rated.y.tolist(), rated.low.tolist(), rated.high.tolist()) == ([10, 20], [8, 18], [12, 22])
    assert training.y.tolist() == [5, 10]
    assert [curve.label for curve in charts["Losses"].curves] == ["policy", "reward"]
    assert charts["Consistency of latents"].curves[0].y.tolist() == [0.1, 0.1]
    assert charts["Targets outside the supports"].curves[0].y.tolist() == [3, 3]


def test_alarms_are_told_with_their_rounds(tmp_path: Path) -> None:
    lines = [
        {"round": number, "alarm/outside_support": float(number in (2, 4)), "alarm/policy_collapse": 0.0}
        for number in range(1, 6)
    ]
    run = read_run(make_run(tmp_path / "run", lines, LEARNED))
    (line,) = [line for line in summarise(run) if line.startswith("alarm")]
    assert line.startswith("alarm outside_support in 2 of 5 rounds, from round 2 to 4: ")
    assert "alarm outside_support in 2 of 5 rounds" in make_page(run)


def test_the_board_of_a_game_whose_rules_stay_hidden(tmp_path: Path) -> None:
    config = 'model = "learned"\n[env]\nid = ""\n[game]\nname = "tic_tac_toe"\n'
    run = read_run(make_run(tmp_path / "run", [], config, games="episode 7: 0 4 8 ; return 0\n"))
    assert run.sample is not None
    assert run.remarks == []
    assert len(run.sample.position.actions_played) == len(run.sample.moves) == 3
    assert run.sample.moves[0] == "a3" or not run.sample.moves[0].isdigit()
