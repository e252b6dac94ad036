"""Checks that a game keeps the contract, and names the function, the line and the broken promise.

The order protects the process: first the rules run interpreted, where a wrong index is an error and
not a torn memory, and an endless loop is broken off; then the compiled code is read for allocations
and exceptions without running it; only rules that pass run compiled.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType

import numpy as np

from zelkova.errors import GameError
from zelkova.games import check_code, check_forms
from zelkova.games.check_parts import BrokenPromiseError, Played, Visit
from zelkova.games.check_play import Checker, place_of
from zelkova.games.game import Game
from zelkova.games.native import RuleCompileError
from zelkova.games.plain import PlainRules
from zelkova.games.playout import playout_up_to
from zelkova.games.single import CompiledRules

_INTERPRETED_PLIES = 600  # interpreted games are broken off here; compiled ones go on
_DRAW_EVERY = 7  # plies between positions that are drawn


@dataclasses.dataclass(frozen=True)
class Finding:
    """One broken promise."""

    function: str  # the rule, or SYMMETRIES
    file: str  # where it is
    line: int  # the line at fault where it is known, else the function's first
    promise: str  # what was found and what is allowed
    where: str = ""  # the position, by seed and actions

    def __str__(self) -> str:
        name = self.function if self.function.isupper() else f"{self.function}()"
        found = f"{self.file}, line {self.line}: {name} {self.promise}"
        return f"{found} ({self.where})" if self.where else found


@dataclasses.dataclass(frozen=True)
class Report:
    """What the check found."""

    game: str  # the game's name
    findings: tuple[Finding, ...]  # broken promises; none if the game is sound
    notes: tuple[str, ...]  # what could not be checked
    positions: int  # asked, interpreted and compiled

    @property
    def ok(self) -> bool:
        """Does the game keep the contract."""
        return not self.findings

    def __str__(self) -> str:
        if self.ok:
            lines = [f"{self.game} keeps the contract ({self.positions} positions)"]
        else:
            lines = [f"{self.game} breaks the contract:"] + [f"  {finding}" for finding in self.findings]
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])


def check_game(game: Game, *, games: int = 3, seed: int = 0, limit_s: float = 10.0) -> Report:
    """Check a game against the contract by reading its code and playing random games.

    Args:
        game: as loaded; form and constants were checked by load().
        games: played interpreted, and as many again compiled.
        seed: of the random actions and of init.
        limit_s: seconds that one interpreted call may take.
    """
    return _Check(game, seed).run(games, limit_s)


def refuse_broken(game: Game) -> None:
    """Hold a user's game to the contract before its compiled code is let loose on memory.

    Args:
        game: as loaded; one that comes with the package is not asked again.
    Raises:
        GameError: it breaks a promise; the message names function and line.
    """
    if game.stamp is None:
        return
    report = check_game(game, games=1)
    if not report.ok:
        raise GameError(str(report))


class _Check:
    """One run of the check: collects findings and notes."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game = game
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def run(self, games: int, limit_s: float) -> Report:
        """Go through the stages until one finds something."""
        plain = Checker(self.game, PlainRules(self.game, limit_s))
        played: list[Played] = []
        with self._collect(plain):
            check_forms.check_maps(self.game)
            for number in range(games):
                played.append(plain.play(self.seed + number, self.rng, _INTERPRETED_PLIES))
                if not played[-1].visits[-1].terminal:
                    break
        positions = plain.positions
        if not self.findings or "when interpreted" in self.findings[0].promise:
            self._read_code()
        if not self.findings:
            positions += self._run_compiled(played)
        return Report(self.game.name, tuple(self.findings), tuple(self.notes), positions)

    def _read_code(self) -> None:
        """Compile every rule, without running it, and look for allocations and exceptions.

        A rule that raised when interpreted often can't be compiled either; then this says it better.
        """
        try:
            found = list(check_code.allocations(self.game))
        except RuleCompileError as error:
            promise = f"can't be compiled: {error.reason}"
            self.findings = [Finding(error.function, error.file, error.line, promise)]
            return
        for function, file, line in found:
            promise = (
                "allocates memory, which compiled rules may not (it can't run in a browser); "
                "next: write into a field of STATE, or loop over its cells"
            )
            self.findings.append(Finding(function, file, line, promise))
        for function, file, line in check_code.raises(self.game):
            promise = "raises or asserts, which compiled rules may not; next: leave the position as it is"
            self.findings.append(Finding(function, file, line, promise))

    def _run_compiled(self, interpreted: list[Played]) -> int:
        """Compare compiled with interpreted rules, then play on compiled; give the positions asked."""
        checker = Checker(self.game, CompiledRules(self.game))
        with self._collect(checker):
            self._find_endings(checker, len(interpreted))
            for played in interpreted:
                self._compare(checker, played)
            compiled = [
                checker.play(self.seed + 1000 + number, self.rng, self.game.max_plies)
                for number in range(len(interpreted))
            ]
            check_forms.check_keys(interpreted + compiled)
            for number in range(len(self.game.symmetries)):
                checker.where = f"game of seed {interpreted[0].seed}, turned"
                note = check_forms.check_symmetry(self.game, checker, interpreted[0], number)
                self.notes += [note] if note else []
            for played in compiled:
                self._check_forms(checker, played)
        return checker.positions

    def _compare(self, checker: Checker, played: Played) -> None:
        """Play an interpreted game again, compiled, and compare every answer."""
        state = checker.begin(played.seed)
        for ply, expected in enumerate(played.visits):
            last = "step" if ply else "init"
            checker.where = place_of(played.seed, played.actions[:ply])
            found = checker.visit(state, last)
            for name, value in expected.record.items():
                if not np.allclose(value, found.record[name], rtol=1e-6, atol=0):
                    raise BrokenPromiseError(
                        last,
                        f"writes another state[{name!r}] compiled than interpreted; hint: overflow differs",
                    )
            function = _different_answer(expected, found)
            if function is not None:
                raise BrokenPromiseError(function, "answers otherwise compiled than interpreted")
            if ply < len(played.actions):
                state = checker.step(state, played.actions[ply])

    def _find_endings(self, checker: Checker, games: int) -> None:
        """Play compiled games to their ends; refuse one that has none."""
        native, limit = self.game.native, self.game.max_plies
        counter = np.array([self.seed], np.uint64)
        actions, probs = self.game.new_scratch()
        for number in range(games):
            checker.where = f"seed {self.seed + number}"
            state = checker.begin(self.seed + number)
            address = np.intp(state.ctypes.data)
            plies = playout_up_to(*native.moving, address, counter, actions, probs, limit)
            if plies == -1:
                raise BrokenPromiseError("legal_actions", "gives no action although the game is not over")
            if plies == -2:
                raise BrokenPromiseError(
                    "is_terminal",
                    f"gives False after {limit} random plies; next: end long games, or declare MAX_PLIES",
                )

    def _check_forms(self, checker: Checker, played: Played) -> None:
        """Check notation at every position of a game and drawings at some."""
        for ply, visit in enumerate(played.visits):
            checker.where = place_of(played.seed, played.actions[:ply])
            check_forms.check_notation(self.game, visit)
            if ply % _DRAW_EVERY == 0 or visit.terminal:
                check_forms.check_drawing(self.game, visit)

    @contextmanager
    def _collect(self, checker: Checker) -> Iterator[None]:
        """Turn a broken promise into a finding."""
        try:
            yield
        except BrokenPromiseError as broken:
            file, line = self._locate(broken.function)
            if broken.line is not None:
                line, file = broken.line, broken.file or file
            where = checker.where if broken.function in self.game.functions else ""
            self.findings.append(Finding(broken.function, file, line, str(broken), where))

    def _locate(self, name: str) -> tuple[str, int]:
        """Find the file and the first line of a function, or of what stands nearest to it."""
        found: list[object] = [self.game.functions.get(name)]
        found += [getattr(module, name, None) for module in (self.game.notation, self.game.drawing)]
        for function in found:
            if isinstance(function, FunctionType):
                return function.__code__.co_filename, function.__code__.co_firstlineno
        return self.game.functions["init"].__code__.co_filename, 1


def _different_answer(one: Visit, other: Visit) -> str | None:
    """Name the rule whose answers differ, or None."""
    if one.terminal != other.terminal:
        return "is_terminal"
    if one.to_play >= 0 and not np.array_equal(one.legal, other.legal):
        return "legal_actions"
    if not np.array_equal(one.legal, other.legal) or not np.allclose(one.probs, other.probs, rtol=1e-6):
        return "chance"
    if not np.allclose(one.planes, other.planes, rtol=1e-6):
        return "observe"
    if one.returns is not None and not np.allclose(one.returns, other.returns, rtol=1e-6):  # type: ignore[arg-type]
        return "returns"
    if one.worth is not None and not np.allclose(one.worth, other.worth, rtol=1e-5, atol=1e-6):  # type: ignore[arg-type]
        return "evaluate"
    if one.weights is not None and not np.allclose(one.weights, other.weights, rtol=1e-5):  # type: ignore[arg-type]
        return "weigh"
    for name, values in one.standing.items():
        if not np.allclose(values, other.standing[name], rtol=1e-5):
            return name
    return "position_hash" if one.key != other.key else None
