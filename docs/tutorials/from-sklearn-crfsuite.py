"""From sklearn-crfsuite: the script of from-sklearn-crfsuite.md."""

def word2features(sentence, i):
    word = sentence[i]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    if i > 0:
        features["-1:word.lower()"] = sentence[i - 1].lower()
    else:
        features["BOS"] = True
    return features


def sent2features(sentence):
    return [word2features(sentence, i) for i in range(len(sentence))]


sentences = [["Anna", "saw", "Rome"], ["Peter", "met", "Anna", "in", "Oslo"], ["they", "met", "in", "Rome"]]
y_train = [["B-PER", "O", "B-LOC"], ["B-PER", "O", "B-PER", "O", "B-LOC"], ["O", "O", "O", "B-LOC"]]
X_train = [sent2features(sentence) for sentence in sentences]

from loglin import crfsuite as sklearn_crfsuite  # it was: import sklearn_crfsuite

crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
crf.fit(X_train, y_train)
print(crf.predict([sent2features(["Peter", "saw", "Oslo"])])[0])
print(sorted(crf.classes_))

from loglin import Tagger

tagger = Tagger(l1=0.1, l2=0.2, all_pairs=True).fit(X_train, y_train)
print(tagger.predict([sent2features(["Peter", "saw", "Oslo"])])[0])

tagger = Tagger(l1=0.1, l2=0.2, constrain="bio", features=sent2features).fit(sentences, y_train)
entity = tagger.entities([["Anna", "met", "Peter"]])[0][0]
print(entity.type, entity.text, 0 < entity.probability <= 1)
print(tagger.explain(["Anna", "met", "Peter"], 0).label)

plain = Tagger(constrain="bio").fit(sentences, y_train)
print(plain.predict([["Peter", "saw", "Oslo"]])[0])
