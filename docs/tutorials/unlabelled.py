"""A tagger without labelled text: the script of unlabelled.md."""

from loglin import Tagger

TEXT = """
they can fish
the fish can swim
the can is old
they swim in the sea
the old fish swim
she can see the sea
they see the old can
she can swim
the sea is old
they fish in the sea
"""
DICTIONARY = {
    "they": ["PRON"],
    "she": ["PRON"],
    "the": ["DET"],
    "in": ["PREP"],
    "is": ["VERB"],
    "can": ["AUX", "NOUN"],
    "fish": ["NOUN", "VERB"],
    "swim": ["VERB"],
    "see": ["VERB"],
    "sea": ["NOUN"],
    "old": ["ADJ"],
}
sentences = [line.split() for line in TEXT.strip().split("\n")]
tagger = Tagger(criterion="contrastive", neighborhood="trans1", dictionary=DICTIONARY, order=1).fit(sentences)
print(tagger.predict([["the", "can", "is", "old"]])[0])

labels = [None] * len(sentences)
labels[0] = ["PRON", "AUX", "VERB"]
labels[1] = ["DET", "NOUN", "AUX", "VERB"]
mixed = Tagger(criterion="mixture", neighborhood="trans1", dictionary=DICTIONARY, order=1).fit(sentences, labels)
print(mixed.predict([["they", "can", "fish"]])[0])

report = tagger.evaluate_unsupervised([["they", "can", "swim"]], [["PRON", "AUX", "VERB"]])
print(report.tokens, report.ambiguous)
