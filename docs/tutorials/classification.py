"""Text classification: the script of classification.md."""

from loglin import MaxEnt, NaiveBayes

TEXTS = [
    "the invoice is wrong, I was charged twice",
    "please send the invoice again",
    "I was charged for a month I did not use",
    "the app closes when I open the map",
    "after the update the app does not start",
    "the map does not load",
    "how do I change my password",
    "I cannot log in, the password is refused",
]
ANSWERS = ["bill", "bill", "bill", "bug", "bug", "bug", "login", "login"]
model = MaxEnt(l2=0.1).fit(TEXTS, ANSWERS)
print(model.predict(["why was I charged again", "the app does not load"]).tolist())

question = "my password is refused after the update"
chances = dict(zip(model.classes_.tolist(), model.predict_proba([question])[0], strict=True))
print(max(chances, key=chances.get))
votes = [vote for vote in model.explain(question) if vote.feature != "(intercept)"]
print(votes[0].feature)

SETS = [{"bill"}, {"bill"}, {"bill"}, {"bug"}, {"bug"}, {"bug"}, {"login"}, {"login", "bug"}]
several = MaxEnt(multi_label=True, l2=0.1).fit(TEXTS, SETS)
print(sorted(several.predict(["I was charged twice"])[0]))

counted = NaiveBayes().fit(TEXTS, ANSWERS)
print(counted.predict(["please send it again"]).tolist())

from sklearn.model_selection import cross_val_score

scores = cross_val_score(MaxEnt(l2=0.1), TEXTS, ANSWERS, cv=2)
print(len(scores))
