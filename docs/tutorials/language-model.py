"""A language model: the script of language-model.md."""

from loglin import LanguageModel

LINES = """
the crow sat on the branch
the wolf sat under the tree
a crow flew over the tree
the wolf saw the crow
the crow saw the wolf under the branch
a wolf ran under the tree
""".strip().split("\n")
model = LanguageModel(min_count=1).fit(LINES)
print([word for word, p in model.next("the crow sat", k=2)])

good, bad = "the wolf sat on the branch", "branch the on sat wolf the"
print(model.perplexity([good]) < model.perplexity([bad]))

import math

votes = model.explain("the crow sat", "on")
total = sum(vote.weight for vote in votes)
print(abs(total - math.log(model.probability("the crow sat", "on"))) < 1e-9)

print(len(model.sample(2, seed=1)))
model.save("crow.model")
