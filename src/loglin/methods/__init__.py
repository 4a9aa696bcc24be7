"""Ways to estimate the same chain model.

name, settings → (instances, base model, …) → a criterion for the optimizer, and how the model decodes
"""
