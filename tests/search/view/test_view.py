"""Pictures, graphs and reasons of known small trees; names that try to do harm."""

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from zelkova.errors import ConfigError, SearchError
from zelkova.search import BatchSearch, SearchConfig, draw_noise, run
from zelkova.search.batch import run_until
from zelkova.search.models.table_model import TableModel, Tables, random_tables
from zelkova.search.view import Explanation, TreeView, explain
from zelkova.search.view.branches import read_branches, read_priors
from zelkova.search.view.text import LONGEST_NAME

F = np.float32
HOSTILE = '</text><script>alert("1")</script>&amp;]]>\\"\n\x00\x1b[31m\ud800'


def bandit() -> Tables:
    """Two players; action 7 wins for player 0, 8 draws, 9 loses; priors 1/2, 1/4, 1/4."""
    return Tables(
        transition=np.array([[1, 2, 3], [0, 0, 0], [0, 0, 0], [0, 0, 0]], np.int32),
        reward=np.array([[[1, -1], [0, 0], [-1, 1]], *[[[0, 0]] * 3] * 3], F),
        discount=np.zeros((4, 3), F),
        actions=np.array([[7, 8, 9]] * 4, np.int32),
        count=np.array([3, 0, 0, 0], np.int32),
        prior_logits=np.log(np.array([[0.5, 0.25, 0.25]] * 4, F)),
        value=np.zeros((4, 2), F),
        to_play=np.zeros(4, np.int32),
    )


def searched(policy: Any, simulations: int = 12, tables: Tables | None = None, **options: Any) -> BatchSearch:
    tables = tables or bandit()
    search = BatchSearch(
        SearchConfig(policy=policy, num_simulations=simulations, **options), 1, tables.actions.shape[1], 2
    )
    run(search, TableModel(tables, np.zeros(1, np.int32), simulations + 1))
    return search


def deep(policy: Any, interior: Any = "full", leaves: int = 1) -> tuple[BatchSearch, TableModel]:
    tables = random_tables(np.random.default_rng(4), 60, 9, 2)
    config = SearchConfig(policy=policy, interior=interior, num_simulations=80)
    search = BatchSearch(config, 2, 9, 2, num_leaves=leaves)
    model = TableModel(tables, np.arange(2, dtype=np.int32), 81, leaves)
    noise = draw_noise(config, np.full(2, 9, np.int32), 9, np.random.default_rng(1))
    search.set_roots(model.root(), noise)
    run_until(search, model, 80)
    return search, model


def test_branches_of_a_known_tree() -> None:
    root = read_branches(searched("puct"), [3])
    assert root.visits == 13
    assert {branch.action for branch in root.children} <= {7, 8, 9}
    best = root.children[0]
    assert best.action == 7
    assert best.prior == pytest.approx(0.5)
    assert best.value.tolist() == [1.0, -1.0]
    assert sum(branch.visits for branch in root.children) == 12


@pytest.mark.parametrize(
    ("policy", "interior"),
    [("puct", "full"), ("gumbel", "full"), ("gumbel", "puct"), ("trpo", "puct"), ("mpo", "full")],
)
def test_priors_are_the_models(policy: str, interior: str) -> None:
    search, model = deep(policy, interior)
    for tree in range(2):
        for node in range(int(search.forest.heads["num_nodes"][tree])):
            logits = model.tables.prior_logits[model.states[tree, node]].astype(np.float64)
            expected = np.exp(logits) / np.exp(logits).sum()
            if node == 0 and policy == "puct":
                expected = 0.75 * expected + 0.25 * search.forest.noise[tree]
            assert read_priors(search, node, tree) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9, 1.0])
def test_priors_of_a_root_with_noise(share: float) -> None:
    """Where a person reads a prior it is the model's; what the noise made of it stands beside."""
    tables = random_tables(np.random.default_rng(4), 60, 9, 2)
    config = SearchConfig(policy="puct", num_simulations=40, dirichlet_fraction=share)
    search, noise = BatchSearch(config, 1, 9, 2), np.random.default_rng(1).dirichlet(np.ones(9), 1).astype(F)
    run(search, TableModel(tables, np.zeros(1, np.int32), 41), noise)
    model = np.exp(tables.prior_logits[0].astype(np.float64))
    model /= model.sum()
    found = explain(search)
    for reason in found.reasons:
        drawn, own = noise[0, reason.action], model[reason.action]
        assert reason.noise == drawn
        assert reason.mixed == pytest.approx((1 - share) * own + share * drawn, abs=1e-6)
        assert reason.prior == pytest.approx(own if share < 1 else drawn, abs=1e-5)
    assert found.tables()[0][1][0][1:4] == ["prior", "noise", "mixed"]
    assert found.tables()[0][1][1][3] == f"{found.reasons[0].mixed:.4f}"
    shown = {branch.action: branch.prior for branch in read_branches(search, [9]).children}
    own_priors = {reason.action: reason.prior for reason in found.reasons}
    assert all(prior == own_priors[action] for action, prior in shown.items())
    assert "mixed" not in explain(searched("gumbel")).text()


@pytest.mark.parametrize("policy", ["puct", "gumbel", "trpo", "mpo"])
def test_best_lines_begin_with_what_is_played(policy: Any) -> None:
    """Sequential Halving leaves its last candidates with equal visits, and the better score decides."""
    led = 0
    for seed in range(30):
        tables = random_tables(np.random.default_rng(seed), 60, 9, 2)
        config = SearchConfig(policy=policy, num_simulations=8)
        search = BatchSearch(config, 1, 9, 2)
        noise = draw_noise(config, np.full(1, 9, np.int32), 9, np.random.default_rng(seed))
        found = run(search, TableModel(tables, np.zeros(1, np.int32), 9), noise)
        view = TreeView(search, lines=(1, 3))
        root = read_branches(search, [9])
        assert root.children[0].action == found.action[0] == view.root.children[0].action
        assert view.principal_variations().splitlines()[1].split()[0] == str(found.action[0])
        visits = [branch.visits for branch in root.children[1:]]
        assert visits == sorted(visits, reverse=True)
        best = max(root.children, key=lambda branch: (branch.visits, branch.value[0]))
        led += best.action != found.action[0]
    assert policy != "gumbel" or led > 0


def test_best_lines_of_a_search_that_was_stopped_early() -> None:
    """Gumbel may play an action that no simulation went through: it has no line, the others go by visits."""
    unvisited = 0
    for seed in range(60):
        model = TableModel(random_tables(np.random.default_rng(seed), 60, 9, 2), np.zeros(1, np.int32), 9)
        search = BatchSearch(SearchConfig(num_simulations=16), 1, 9, 2)
        search.set_roots(model.root(), np.random.default_rng(seed).gumbel(size=(1, 9)).astype(np.float32))
        for _ in range(3):
            search.expand(model.step(*search.select()))
        played = int(search.result_so_far().action[0])
        visits = {branch.action: branch.visits for branch in read_branches(search, [9]).children}
        unvisited += played not in visits
        assert next(iter(visits)) == played or list(visits.values()) == sorted(visits.values(), reverse=True)
    assert unvisited > 0


def texts(svg: str) -> list[str]:
    document = ElementTree.fromstring(svg)
    assert document.tag == "{http://www.w3.org/2000/svg}svg"
    assert {element.tag.rpartition("}")[2] for element in document.iter()} <= {
        "svg", "title", "g", "rect", "path", "text"
    }  # fmt: skip
    return [element.text or "" for element in document.iter("{http://www.w3.org/2000/svg}text")]


def test_a_picture_of_a_known_tree() -> None:
    view = TreeView(searched("puct"), names=lambda action: f"move {action}")
    shown = texts(view.svg())
    visits = {branch.action: branch.visits for branch in view.root.children}
    assert shown[0] == "13"
    for action, count in visits.items():
        at = next(k for k, text in enumerate(shown) if text.startswith(f"move {action}  "))
        assert shown[at - 2] == str(count)
    assert any(text == "move 7  50.0 %" for text in shown)
    assert "+1.00 -1.00" in shown
    assert view._repr_svg_() == view.svg()


def test_widths_and_depths_are_kept() -> None:
    search, _ = deep("puct")
    for widths, most in (((2, 1), 5), ((), 1), ((3,), 4), ((100, 100, 100, 100), 10_000)):
        view = TreeView(search, 1, widths=widths)
        boxes = len(texts(view.svg())) - 2 * view.svg().count("<path") // 2
        assert view.svg().count('font-weight="bold"') <= most
        assert boxes > 0
        assert check_dot(view.to_graphviz())[0] == view.svg().count('font-weight="bold"')


STRING = r'"(?:[^"\\\n]|\\.)*"'
VALUE = rf"(?:{STRING}|[\w.]+)"
STATEMENT = re.compile(rf"  (?:\w+={VALUE}|(n\d+|node)( -> n\d+)? \[\w+={VALUE}(?:, \w+={VALUE})*\]);")


def check_dot(text: str) -> tuple[int, int]:
    """Check a DOT text line by line; count its nodes and edges."""
    first, *lines, last = text.removesuffix("\n").split("\n")
    assert (first, last) == ("digraph search {", "}")
    found = [STATEMENT.fullmatch(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    names = [match[1] for match in found if match and match[1] not in (None, "node") and not match[2]]
    arrows = [match[2] for match in found if match and match[2]]
    assert len(set(names)) == len(names)
    assert {arrow.removeprefix(" -> ") for arrow in arrows} <= set(names)
    return len(names), len(arrows)


def test_a_graph_for_graphviz() -> None:
    text = TreeView(searched("gumbel"), names=lambda action: f"m{action}").to_graphviz()
    assert check_dot(text) == (4, 3)
    assert '[label="m7\\n0.500"]' in text
    assert '[label="13\\n' in text


def test_best_lines_in_columns() -> None:
    search, _ = deep("puct")
    table = TreeView(search, lines=(3, 4), names=lambda action: f"{action}" * (1 + action % 3))
    head, *lines = table.principal_variations().splitlines()
    assert head.split() == ["action", "visits", "prior", "values", "line"]
    assert len(lines) == 3
    ends = [head.index(word) + len(word) for word in ("visits", "prior", "values")]
    for line in lines:
        assert all(line[end : end + 2] == "  " and line[end - 1] != " " for end in ends)
        assert 1 <= len(line[head.index("line") :].split()) <= 4
        assert line.split()[0] == line[head.index("line") :].split()[0]
    assert str(table) == table.principal_variations()


def test_hostile_names_do_no_harm() -> None:
    for policy in ("puct", "gumbel"):
        search = searched(policy)
        view = TreeView(search, names=lambda action: HOSTILE)
        shown = texts(view.svg())
        assert any(text.startswith("</text><script>alert(") for text in shown)
        assert check_dot(view.to_graphviz())[1] == len(view.root.children)
        for text in (view.principal_variations(), explain(search, names=lambda action: HOSTILE).text()):
            assert all(sign.isprintable() or sign == "\n" for sign in text)
        html = explain(search, names=lambda action: HOSTILE).html()
        assert "<script" not in html
        ElementTree.fromstring(html)
        assert html.encode()
        assert view.svg().encode()
    short = TreeView(search, names=lambda action: '\\"' * 3).to_graphviz()
    assert check_dot(short)[1] == 3
    assert '\\\\\\"\\\\\\"' in short
    long = TreeView(search, names=lambda action: "x" * 10_000).svg()
    assert max(len(text) for text in texts(long)) < LONGEST_NAME + 12
    assert len(TreeView(search, names=lambda action: "\n").svg()) > 0


def test_reasons_of_visit_counts() -> None:
    found = explain(searched("puct"), names=lambda action: f"m{action}")
    assert (found.policy, found.chosen, found.phases) == ("puct", 7, None)
    visits = {reason.action: reason.visits for reason in found.reasons}
    assert sum(visits.values()) == 12
    best = found.reasons[0]
    assert best.action == 7
    assert best.q == 1.0
    assert best.weight == pytest.approx(visits[7] / 12)
    assert best.prior == pytest.approx(0.5)
    # the next simulation takes the best score: that is PUCT's rule
    constant = np.log((1 + 13 + 19652) / 19652) + 1.25
    assert best.term == pytest.approx(constant * 0.5 * np.sqrt(13) / (1 + visits[7]), abs=1e-5)
    assert best.score == pytest.approx(best.term + 1.0, abs=1e-5)
    assert found.summary() == f"m7 is played: most visits, {visits[7]}"
    assert "played" in found.text()


def test_reasons_of_the_next_choice() -> None:
    """Whatever the options, the largest score is where the next simulation goes."""
    tables = random_tables(np.random.default_rng(5), 60, 9, 1)
    for options in ({}, {"fpu": "mean_q", "rescale": "tree"}, {"fpu": "reduction", "rescale": "node"}):
        config = SearchConfig(policy="puct", num_simulations=40, **options)  # type: ignore[arg-type]
        search = BatchSearch(config, 1, 9, 1)
        model = TableModel(tables, np.zeros(1, np.int32), 41)
        search.set_roots(model.root())
        for _ in range(40):
            best = max(explain(search).reasons, key=lambda reason: (reason.score, -reason.action)).action
            before = search.result_so_far().visit_counts[0]
            run_until(search, model, int(before.sum()) + 1)
            assert (search.result_so_far().visit_counts[0] - before)[best] == 1


def test_reasons_of_sequential_halving() -> None:
    """32 simulations of 9 candidates: 9x1, 4x2, 2x5 from the schedule by hand, and what is left over."""
    tables = random_tables(np.random.default_rng(6), 60, 9, 2)
    config = SearchConfig(num_simulations=32)
    search = BatchSearch(config, 1, 9, 2)
    model = TableModel(tables, np.zeros(1, np.int32), 33)
    noise = draw_noise(config, np.array([9], np.int32), 9, np.random.default_rng(1))
    result = run(search, model, noise)
    found = explain(search, model=model)
    for one, two in zip(result, search.result(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert found.chosen == result.action[0]
    phases = found.phases
    assert phases is not None
    assert [(phase.start, phase.end, len(phase.considered)) for phase in phases[:3]] == [
        (0, 9, 9), (9, 17, 4), (17, 25, 2)
    ]  # fmt: skip
    assert phases[-1].end == 32
    assert phases[-1].kept == (result.action[0],)
    for before, after in itertools.pairwise(phases):
        assert set(before.kept) == set(after.considered) <= set(before.considered)
        assert before.end == after.start
    assert list(phases[0].scores) == sorted(phases[0].scores, reverse=True)
    assert set(phases[0].visits) == {1}
    for reason in found.reasons:
        column = int(np.flatnonzero(result.actions[0] == reason.action)[0])
        assert reason.weight == result.action_weights[0, column]
        assert reason.visits == result.visit_counts[0, column]
        assert reason.noise == noise[0, column]
        logit = tables.prior_logits[0, column]
        assert reason.score == pytest.approx(reason.noise + logit + reason.term, abs=1e-4)
    text = found.text()
    assert "phase 1: simulations 1 to 9, 9 considered, 4 kept" in text
    assert ElementTree.fromstring(found._repr_html_()).tag == "div"
    without = explain(search)
    assert without.phases is None
    assert "explain(model=...)" in without.text()


def test_phases_of_a_search_that_was_ended_early() -> None:
    tables = random_tables(np.random.default_rng(6), 60, 9, 2)
    search = BatchSearch(SearchConfig(num_simulations=32), 1, 9, 2)
    model = TableModel(tables, np.zeros(1, np.int32), 33)
    search.set_roots(model.root())
    run_until(search, model, 12)
    found = explain(search, model=model)
    assert found.phases is not None
    assert [(phase.start, phase.end) for phase in found.phases] == [(0, 9), (9, 12)]
    assert search.forest.heads["done"][0] == 12
    assert found.phases[-1].kept in ((found.chosen,), ())
    run_until(search, model, 32)
    assert search.is_done


def test_phases_with_several_leaves() -> None:
    search, model = deep("gumbel", leaves=4)
    before = search.result()
    found = explain(search, 1, model=model)
    for one, two in zip(before, search.result(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert found.phases is not None
    assert found.phases[-1].end == 80


class Fickle(TableModel):
    """Thinks better of it when asked again."""

    def root(self) -> Any:
        self.tables.value[1:] = -self.tables.value[1:]
        return super().root()


def test_a_model_that_changes_its_mind_is_found_out() -> None:
    tables = random_tables(np.random.default_rng(6), 60, 9, 2)
    search = BatchSearch(SearchConfig(num_simulations=32), 1, 9, 2)
    model = Fickle(tables, np.zeros(1, np.int32), 33)
    run(search, model)
    with pytest.raises(SearchError, match="does not answer the same"):
        explain(search, model=model)


@pytest.mark.parametrize("policy", ["trpo", "mpo"])
def test_reasons_of_a_regularised_policy(policy: Any) -> None:
    search = searched(policy, 12)
    found = explain(search)
    assert found.summary().startswith("7 is played: largest y, 0.")
    assert found.tables()[0][1][0][5] == "y"
    weights = search.result().action_weights[0]
    for reason, weight in zip(sorted(found.reasons, key=lambda reason: reason.action), weights, strict=True):
        assert reason.term == weight
        assert reason.score == pytest.approx(weight - reason.visits / 13)


@pytest.mark.parametrize("policy", ["puct", "gumbel", "trpo"])
def test_a_proven_root_says_so(policy: Any) -> None:
    found = explain(searched(policy, 12, solve=True))
    assert found.is_proven
    assert found.summary().startswith("7 is played: proven best")


def test_candidates_drawn_with_replacement_have_no_replay() -> None:
    tables = bandit()
    config = SearchConfig(num_simulations=8, candidates="replacement")
    search, model = BatchSearch(config, 1, 3, 2), TableModel(tables, np.zeros(1, np.int32), 9)
    run(search, model, draw_noise(config, np.full(1, 3, np.int32), 3, np.random.default_rng(0)))
    assert explain(search).phases is None
    with pytest.raises(SearchError, match="explain without a model"):
        explain(search, model=model)


def test_a_network_is_no_model_of_a_search() -> None:
    """`explain(found.tree, model=module)` was a TypeError of the module's own."""

    class Module:
        def root(self, observation: Any) -> Any: ...
        def step(self, embedding: Any, action: Any) -> Any: ...

    class Careless(Module):
        def root(self, observation: Any = None) -> Any:
            return (observation, observation)

    wrong: Any
    for wrong in (Module(), (len, len), 5, Module, TableModel):
        for policy in ("gumbel", "puct"):
            with pytest.raises(ConfigError, match=r"got a \w+; allowed: `searcher\.model`.*; next: "):
                explain(searched(policy), model=wrong)
    wrong = Careless()
    with pytest.raises(ConfigError, match=r"root\(\) gives a tuple; allowed: .*Evaluation; next: `searcher"):
        explain(searched("gumbel"), model=wrong)


def test_columns_of_the_text_are_aligned() -> None:
    found: Explanation = explain(searched("gumbel"), names=lambda action: "x" * action)
    _, table, *_ = found.text().split("\n\n")
    _, head, *lines = table.splitlines()
    end = head.index("visits") + len("visits")
    assert all(line[end - 1].isdigit() and line[end : end + 1] == " " for line in lines)


def test_what_is_no_tree_is_named() -> None:
    calls: tuple[Any, ...] = (explain, TreeView)
    for call in calls:
        with pytest.raises(ConfigError, match=r"got a dict; allowed: a BatchSearch, such as `found\.tree`"):
            call({})
        with pytest.raises(SearchError, match="tree = 1; allowed: 0 to 0"):
            call(searched("puct"), 1)
