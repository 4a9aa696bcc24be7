"""An address parser from nothing: the script of addresses.md."""

from loglin import Tagger

LABELLED = """
12/B-NUMBER Main/B-STREET Street/I-STREET ,/O Springfield/B-CITY 49007/B-ZIP
7/B-NUMBER Oak/B-STREET Avenue/I-STREET ,/O Salem/B-CITY 97301/B-ZIP
230/B-NUMBER Lake/B-STREET Shore/I-STREET Drive/I-STREET ,/O Chicago/B-CITY 60611/B-ZIP
5/B-NUMBER Mill/B-STREET Lane/I-STREET ,/O Concord/B-CITY
88/B-NUMBER King/B-STREET Street/I-STREET apt/B-UNIT 4/I-UNIT ,/O Boston/B-CITY 02108/B-ZIP
1600/B-NUMBER Park/B-STREET Road/I-STREET ,/O New/B-CITY Haven/I-CITY 06511/B-ZIP
41/B-NUMBER West/B-STREET 3rd/I-STREET Street/I-STREET ,/O New/B-CITY York/I-CITY 10012/B-ZIP
19/B-NUMBER Elm/B-STREET Court/I-STREET apt/B-UNIT 12/I-UNIT ,/O Madison/B-CITY
3/B-NUMBER Hill/B-STREET Road/I-STREET ,/O Portland/B-CITY 04101/B-ZIP
650/B-NUMBER Market/B-STREET Street/I-STREET ,/O San/B-CITY Diego/I-CITY 92101/B-ZIP
27/B-NUMBER Church/B-STREET Lane/I-STREET ,/O Albany/B-CITY 12207/B-ZIP
114/B-NUMBER North/B-STREET Avenue/I-STREET suite/B-UNIT 9/I-UNIT ,/O Dayton/B-CITY 45402/B-ZIP
"""


def read(text):
    """Sentences and their labels from lines of token/LABEL."""
    lines = [[piece.rsplit("/", 1) for piece in line.split()] for line in text.strip().split("\n")]
    return [[token for token, _ in line] for line in lines], [[label for _, label in line] for line in lines]


sentences, labels = read(LABELLED)
print(len(sentences), "addresses,", sum(map(len, sentences)), "tokens")

tagger = Tagger(l2=0.1, constrain="bio").fit(sentences, labels)
new = "34 Pine Street , Dover 19901".split()
for entity in tagger.entities([new])[0]:
    print(entity.type, entity.text)

UNLABELLED = [
    "9 Cedar Street , Austin 78701",
    "PO Box 12 , Denver 80202",
    "77 Bay Road apt 3 , Tampa 33602",
    "56 River Lane , Little Rock",
]
pool = [line.split() for line in UNLABELLED]
sure = [nbest[0][1] for nbest in tagger.predict_nbest(pool, k=1)]
least = min(range(len(pool)), key=sure.__getitem__)
print(UNLABELLED[least])

MORE = """
PO/B-BOX Box/I-BOX 12/I-BOX ,/O Denver/B-CITY 80202/B-ZIP
PO/B-BOX Box/I-BOX 310/I-BOX ,/O Fargo/B-CITY
"""
more_sentences, more_labels = read(MORE)
tagger.fit(sentences + more_sentences, labels + more_labels)
print(tagger.predict(["PO Box 45 , Reno 89501".split()])[0])

why = tagger.explain("PO Box 45 , Reno 89501".split(), 2)
print(why.label, why.votes[0].feature)

tagger.save("address.model")
print(Tagger.load("address.model").predict(["5 Elm Road , Salem".split()])[0])
