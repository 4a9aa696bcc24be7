"""A parser: the script of parser.md."""

from loglin import Parser
from loglin.corpus.trees import Tree

TREES = """
(S (NP (PRP she)) (VP (VBD saw) (NP (DT the) (NN crow))))
(S (NP (DT the) (NN crow)) (VP (VBD slept)))
(S (NP (DT a) (NN mouse)) (VP (VBD saw) (NP (PRP her))))
(S (NP (DT the) (NN mouse)) (VP (VBD saw) (NP (NP (DT the) (NN crow)) (PP (IN with) (NP (DT a) (NN stick))))))
(S (NP (PRP she)) (VP (VBD saw) (NP (DT the) (NN mouse)) (PP (IN with) (NP (DT a) (NN telescope)))))
"""
trees = [Tree.parse(line) for line in TREES.strip().split("\n")]
parser = Parser("crf").fit(trees)
sentence = ["the", "crow", "saw", "a", "mouse"]
print(parser.predict([sentence])[0])

from loglin.drawing.trees import draw

print(draw(parser.predict([sentence])[0]))

unclear = ["she", "saw", "the", "crow", "with", "a", "stick"]
for parse in parser.parse_nbest([unclear], 2)[0]:
    print(parse.tree)

chance = {(label, i, j): p for label, i, j, p in parser.marginals(unclear)}
print(chance["S", 0, 7] > 0.99)

print(f"{parser.score(trees):.2f}")
parser.save("parser.model")
