"""The classic searches: max^n, paranoid alpha-beta, and the exact solution of small games.

They know a game by its compiled rules as functions of a state's address (`Rules`) and judge what lies beyond
their depth by an evaluation function. Start at `ClassicSearch` and `solve`.
"""

from zelkova.search.classic.calls import Rules as Rules
from zelkova.search.classic.config import ClassicConfig as ClassicConfig
from zelkova.search.classic.search import ClassicResult as ClassicResult
from zelkova.search.classic.search import ClassicSearch as ClassicSearch
from zelkova.search.classic.solver import MOST_POSITIONS as MOST_POSITIONS
from zelkova.search.classic.solver import Solution as Solution
from zelkova.search.classic.solver import solve as solve
