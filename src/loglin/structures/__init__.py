"""What is summed over, and how: partition, marginals, best, n-best, samples, entropy."""

from loglin.structures.automaton import Automaton
from loglin.structures.chain import Chain
from loglin.structures.local import Local

__all__ = ["Automaton", "Chain", "Local"]
