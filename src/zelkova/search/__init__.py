"""A batch of trees in flat arrays: memory, selection rules, Q transforms, search.

    descend (choose an edge until a leaf) --> evaluate (a Model) --> grow --> back up

It knows no game and no network. With a PyTorch model of your own start at `plan`; with a `Model` of arrays at
`BatchSearch` and `run`.
"""

from typing import TYPE_CHECKING, Any

from zelkova.search.batch import BatchSearch as BatchSearch
from zelkova.search.batch import run as run
from zelkova.search.config import SearchConfig as SearchConfig
from zelkova.search.draws import draw_noise as draw_noise
from zelkova.search.model import Evaluation as Evaluation
from zelkova.search.model import Model as Model
from zelkova.search.model import SearchResult as SearchResult
from zelkova.search.model import Selection as Selection
from zelkova.search.models.sampled import SampledModel as SampledModel
from zelkova.search.models.sampled import sampled_policy_loss as sampled_policy_loss
from zelkova.search.planning import Plan as Plan
from zelkova.search.planning import Searcher as Searcher
from zelkova.search.planning import plan as plan
from zelkova.search.policies import Custom as Custom
from zelkova.search.policies import Gumbel as Gumbel
from zelkova.search.policies import Policy as Policy
from zelkova.search.policies import Puct as Puct
from zelkova.search.policies import Regularised as Regularised

if TYPE_CHECKING:
    from zelkova.search.models.torch_draws import Proposal as Proposal
    from zelkova.search.models.torch_draws import SquashedGaussian as SquashedGaussian
    from zelkova.search.models.torch_model import Root as Root
    from zelkova.search.models.torch_model import Step as Step
    from zelkova.search.models.torch_model import TorchModel as TorchModel
    from zelkova.search.models.torch_model import two_player_value as two_player_value

NEEDS_TORCH = ("Proposal", "Root", "SquashedGaussian", "Step", "TorchModel", "two_player_value")


def __dir__() -> list[str]:
    """List all names, those that need PyTorch too."""
    return sorted({*globals(), *NEEDS_TORCH})


def __getattr__(name: str) -> Any:
    """Import what needs PyTorch when it is first asked for."""
    if name in NEEDS_TORCH:
        from zelkova.search.models import torch_model

        found = globals()[name] = getattr(torch_model, name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
