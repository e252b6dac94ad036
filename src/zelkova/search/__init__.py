"""A batch of trees in flat arrays: memory, selection rules, Q transforms, search.

    descend (choose an edge until a leaf) --> evaluate (a Model) --> grow --> back up

It knows no game and no network. Start at `BatchSearch` and `run`.
"""

from zelkova.search.batch import BatchSearch as BatchSearch
from zelkova.search.batch import run as run
from zelkova.search.config import SearchConfig as SearchConfig
from zelkova.search.draws import draw_noise as draw_noise
from zelkova.search.model import Evaluation as Evaluation
from zelkova.search.model import Model as Model
from zelkova.search.model import SearchResult as SearchResult
from zelkova.search.model import Selection as Selection
