"""Which other sentences a sentence is compared with: neighborhoods as word lattices (contrastive estimation, §4)."""

from loglin.neighborhoods.named import Neighborhood, neighborhood
from loglin.neighborhoods.transducer import Transducer
from loglin.structures.word_lattices import WordLattices

__all__ = ["Neighborhood", "Transducer", "WordLattices", "neighborhood"]
