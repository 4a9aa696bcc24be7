"""What is summed over, and how: partition, marginals, best, n-best, samples, entropy."""

from loglin.structures.automaton import Automaton, Divergence
from loglin.structures.chain import Chain
from loglin.structures.forest import Forest, Forests
from loglin.structures.lattice import Lattice, Lattices, Sites
from loglin.structures.local import Local

__all__ = ["Automaton", "Chain", "Divergence", "Forest", "Forests", "Lattice", "Lattices", "Local", "Sites"]
