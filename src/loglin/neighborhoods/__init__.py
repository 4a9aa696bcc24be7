"""Which other sentences a sentence is compared with: neighborhoods as word lattices (contrastive estimation, §4)."""

from loglin.neighborhoods.lattices import WordLattices
from loglin.neighborhoods.named import Neighborhood, neighborhood
from loglin.neighborhoods.transducer import Transducer

__all__ = ["Neighborhood", "Transducer", "WordLattices", "neighborhood"]
