"""What every tagger does once it has weights: predict, explain, be evaluated."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from loglin.corpus.columns import Corpus, encode_strings, from_sentences
from loglin.corpus.frames import is_frame
from loglin.decoding.chains import ANY, Decoder
from loglin.errors import LoglinError
from loglin.estimators.given import (
    ATTRIBUTES,
    SENTENCES,
    certain_labels,
    described,
    form_of,
    label_sequences,
    listed,
    sentences_of,
)
from loglin.estimators.parameters import Estimator, require_fitted
from loglin.estimators.raw_text import ReadsText
from loglin.features.extract import TemplateExtractor
from loglin.models.chain import Model

if TYPE_CHECKING:
    from loglin.decoding.reasons import Entity, Explanation, Vote
    from loglin.drawing.tagged import TaggedText
    from loglin.estimators.framed import FramedSentences
    from loglin.evaluation.induced import TaggingReport
    from loglin.evaluation.sequences import Evaluation
    from loglin.features.design import Design

PER_TOKEN = "give a list with the attributes of each token, a list of strings or a dict"


class Sequences(list):
    """The labels of sentences, of which arrays are made as scikit-learn needs them: with a list in every cell."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.empty(len(self), object)
        for n, labels in enumerate(self):
            found[n] = labels
        return found


class FittedTagger(ReadsText, Estimator):
    """A fitted ``model_`` of sequences; ``Tagger`` says how it is fitted."""

    model_: Model
    classes_: list
    features: Callable | None
    constrain: str | None
    threads: int | None

    # ------------------------------------------------------------------ inputs

    def sentences_of(self, X: Any, name: str = "X") -> Corpus | list[list]:
        """Sentences as lists of tokens, raw text split by the tokenizer, or a corpus as it is."""
        self.refuse_text(X)
        return sentences_of(X, name, self.splits)

    def input_of(self, extractor: Any, sentences: Any) -> Any:
        """Sentences as an extractor takes them: a corpus, or attributes."""
        if isinstance(sentences, Corpus):
            return sentences
        if isinstance(extractor, TemplateExtractor):
            return from_sentences(sentences)
        if self.features is None:
            if form_of(sentences) not in (ATTRIBUTES, None):
                raise LoglinError(
                    f"tokens are {form_of(sentences)}, but the model was trained on {ATTRIBUTES}; give the same"
                )
            return sentences
        return [self._attributes(n, sentence) for n, sentence in enumerate(sentences)]

    def _attributes(self, number: int, sentence: list) -> list:
        """The attributes that the feature function gives to the tokens of a sentence."""
        found = listed(self.features(sentence), f"what features gives for sentence {number}", PER_TOKEN)  # type: ignore[misc]
        if len(found) != len(sentence):
            raise LoglinError(
                f"features gives {len(found)} lists of attributes for the {len(sentence)} tokens of sentence {number}; "
                + PER_TOKEN
            )
        return found

    def _adopt(self, model: Model) -> Self:
        self.model_, self.classes_ = model, list(model.labels)
        self.n_iter_ = model.record.get("iterations", 0)
        self._decoder = self._new_decoder()
        return self

    def _new_decoder(self) -> Decoder:
        return Decoder(self.model_, self.threads, ANY if self.constrain is None else self.constrain)

    # ------------------------------------------------------------------ prediction

    def _ready(self, X: Iterable, vectors: Any, for_best: bool = False) -> tuple[Decoder, Design, list[list]]:
        require_fitted(self)
        if self.constrain != self._decoder.constrain:
            self._decoder = self._new_decoder()
        if self.features is None and self.model_.record.get("feature_function"):
            raise LoglinError(
                "the model was trained with a feature function, which files do not keep; open it with "
                "Tagger.load(path, features=f), or set .features to it"
            )
        sentences = self.sentences_of(self._framed(X).sentences if is_frame(X) else X)
        if isinstance(sentences, Corpus):
            design = self._decoder.design(sentences, for_best, vectors)
            return self._decoder, design, [] if for_best else sentences.sentences()
        given = self.input_of(self.model_.extractor, sentences)
        if isinstance(given, Corpus):
            self._check_columns(given)
        return self._decoder, self._decoder.design(given, for_best, vectors), sentences

    def _framed(self, X: Any, name: str = "X") -> FramedSentences:
        """A frame as sentences, by the columns of the frame that the tagger was trained on."""
        from loglin.corpus.frames import Names
        from loglin.estimators.framed import FramedSentences

        return FramedSentences.of(X, Names.kept(self.model_.record), name)

    def _pair(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Sentences and their labels, of a frame too."""
        if not is_frame(X):
            return X, y
        require_fitted(self)
        framed = self._framed(X)
        return framed.sentences, framed.labels(y)

    def _check_columns(self, given: Corpus) -> None:
        """Refuse tokens with other columns than those of training: one more may stand in the place of another."""
        needs, trained = self.model_.extractor.templates.columns, self.model_.record.get("columns")  # type: ignore[union-attr]
        most = trained - 1 if type(trained) is int and trained > 1 else len(given.columns)
        if given.n_tokens and not needs <= len(given.columns) <= most:
            raise LoglinError(
                f"tokens have {len(given.columns)} column{'s' * (len(given.columns) > 1)}, but the model was trained "
                f"on {most if type(trained) is int else needs}; give tuples of as many strings"
            )

    def predict(self, X: Iterable, vectors: Any = None) -> list[list]:
        """The best label sequence of every sentence.

        Here and below, ``vectors`` are those of the tokens, for a model that was trained with vectors: an array (its
        tokens, dimensions) for every sentence, or one for all tokens.
        """
        decoder, design, _ = self._ready(X, vectors, for_best=True)
        names, cuts = self.classes_, design.offsets.tolist()
        flat = list(map(names.__getitem__, decoder.best(design).tolist()))
        return Sequences(flat[b:e] for b, e in itertools.pairwise(cuts))

    def predict_frame(self, X: Any, name: str = "predicted") -> Any:
        """A frame of the same library with one more column, the predicted labels: in lists where a row is a sentence.

        Its columns are found by the names that training had.
        """
        require_fitted(self)
        if not is_frame(X):
            raise LoglinError(f"X is {described(X)}, no data frame; give one, or call predict")
        framed = self._framed(X)
        return framed.with_labels(self.predict(framed.sentences), name)

    def predict_single(self, sentence: Sequence, vectors: Any = None) -> list:
        """The labels of one sentence; ``vectors`` (its tokens, dimensions)."""
        return self.predict([sentence], _of_one(vectors))[0]

    def predict_proba(self, X: Iterable, vectors: Any = None) -> list[np.ndarray]:
        """For every sentence the marginal probabilities (tokens, labels), labels as in ``classes_``."""
        decoder, design, _ = self._ready(X, vectors)
        rows = decoder.marginals(design)
        return [rows[b:e] for b, e in itertools.pairwise(design.offsets.tolist())]

    def predict_marginals(self, X: Iterable, vectors: Any = None) -> list[list[dict]]:
        """For every token a dict from label to marginal probability."""
        decoder, design, _ = self._ready(X, vectors)
        names = self.classes_
        rows = [dict(zip(names, row, strict=False)) for row in decoder.marginals(design).tolist()]
        return [rows[b:e] for b, e in itertools.pairwise(design.offsets.tolist())]

    def predict_nbest(self, X: Iterable, k: int = 5, vectors: Any = None) -> list[list[tuple[list, float]]]:
        """For every sentence its k best label sequences, each with its probability, best first."""
        decoder, design, _ = self._ready(X, vectors)
        name = self.classes_.__getitem__
        return [[(list(map(name, y.tolist())), p) for y, p in ranked] for ranked in decoder.nbest(design, k)]

    def entities(self, X: Iterable, vectors: Any = None) -> list[list[Entity]]:
        """The entities of the best sequence, each with the exact probability of its span.

        Those of raw text say which characters they are.
        """
        given = self._framed(X).sentences if is_frame(X) else X
        given = given if isinstance(given, Corpus) else listed(given, "X", SENTENCES)
        decoder, design, sentences = self._ready(given, vectors)
        words = [[_word(token) for token in sentence] for sentence in sentences]
        found = [decoder.entities(c, w) for c, w in zip(decoder.chains(design), words, strict=True)]
        if isinstance(given, Corpus) or self.splits is None:
            return found
        places = [
            self.splits.spans(s) if isinstance(s, str) and some else [] for s, some in zip(given, found, strict=True)
        ]
        return [
            [entity.within(s, spans) for entity in some] if spans else some
            for s, spans, some in zip(given, places, found, strict=True)
        ]

    def prepared(self, X: Iterable, vectors: Any = None) -> tuple[Decoder, Design]:
        """The decoder, and sentences as it takes them, for what their structures answer: ``decoder.chains(design)``."""
        return self._ready(X, vectors)[:2]

    def explain(self, sentence: Sequence, position: int, vectors: Any = None) -> Explanation:
        """The votes of every active feature for every label at one token, largest first."""
        decoder, design, sentences = self._ready([sentence], _of_one(vectors))
        return decoder.explain(design, [_word(token) for token in sentences[0]], position)

    def votes(self, sentence: Sequence, vectors: Any = None) -> list[list[Vote]]:
        """The votes of every active feature at every token, each token's largest first."""
        decoder, design, sentences = self._ready([sentence], _of_one(vectors))
        return [decoder.votes(design, token) for token in range(len(sentences[0]))]

    # ------------------------------------------------------------------ pictures

    def show(self, X: Iterable, y: Iterable[Sequence] | None = None, vectors: Any = None) -> TaggedText:
        """Sentences with their labels and probabilities, for a notebook or a terminal; ``y``: to mark wrong labels."""
        from dataclasses import replace

        from loglin.corpus import schemes
        from loglin.drawing.tagged import show

        decoder, design, sentences = self._ready(X, vectors)
        names, words = self.classes_, [[_word(token) for token in sentence] for sentence in sentences]
        labels, probabilities = [], []
        entities: dict[tuple[int, int, int], float] = {}
        chunks = schemes.detect([str(name) for name in names]) is not None
        for n, chain in enumerate(decoder.chains(design)):
            best, _ = chain.best()
            labels.append([names[i] for i in best])
            probabilities.append(chain.marginals()[np.arange(len(best)), best].tolist())
            if chunks:
                entities |= {(n, e.start, e.stop): e.probability for e in decoder.entities(chain, words[n])}
        text = show(words, labels, None if y is None else label_sequences(self._pair(X, y)[1]))
        return replace(text, probabilities=probabilities, entities=entities)

    def plot_confusion(self, X: Iterable, y: Iterable[Sequence], ax: Any = None, vectors: Any = None) -> Any:
        """How often tokens of each label get each label; matplotlib's axes."""
        from loglin.drawing.plots import plot_confusion

        X, y = self._pair(X, y)
        right, found = label_sequences(y), self.predict(X, vectors)
        for number, (one, other) in enumerate(zip(right, found, strict=True)):
            if len(one) != len(other):
                raise LoglinError(f"sentence {number} has {len(other)} tokens but {len(one)} labels; give one for each")
        flat = [[str(v) for labels in side for v in labels] for side in (right, found)]
        return plot_confusion(flat[0], flat[1], ax)

    def plot_transitions(self, ax: Any = None) -> Any:
        """The weights of steps from a label to the next; matplotlib's axes."""
        from loglin.drawing.plots import plot_transitions

        require_fitted(self)
        return plot_transitions(self.model_, ax)

    # ------------------------------------------------------------------ scores

    def evaluate(self, X: Iterable, y: Iterable[Sequence], vectors: Any = None) -> Evaluation:
        """Precision, recall and F1 of phrases (or labels), accuracy of tokens and sentences.

        Of a frame, y may be the name of the column with the labels.
        """
        from loglin.evaluation.sequences import evaluate_labels

        X, y = self._pair(X, y)
        predicted = self.predict(X, vectors)
        if not any(predicted):
            raise LoglinError("there are no tokens to compare; give at least one sentence and its labels")
        return evaluate_labels(certain_labels(label_sequences(y), self.classes_), predicted)

    def evaluate_unsupervised(
        self, X: Iterable, y: Iterable[Sequence], mapping: str = "none", marginals: bool = False
    ) -> TaggingReport:
        """What a tagger learnt without labels gets right, of all words and of those with a choice in its dictionary.

        ``mapping`` "many-to-one" or "one-to-one" first finds the right label that each of its labels stands for;
        ``marginals`` adds the mean probability of the right labels.
        """
        from loglin.corpus.labels import gold_of_sequences
        from loglin.evaluation.tagged_text import Labeled

        decoder, design, sentences = self._ready(X, None)
        sequences = certain_labels(label_sequences(y), self.classes_ if mapping == "none" else [])
        names = list(dict.fromkeys([*self.classes_, *(label for labels in sequences for label in labels)]))
        _, gold = gold_of_sequences(sequences, np.diff(design.offsets).tolist(), names)
        words = encode_strings([_word(token) for sentence in sentences for token in sentence])
        return Labeled(design, words, gold.codes, names).report(decoder, mapping, marginals)

    # ------------------------------------------------------------------ weights

    def weights(self) -> dict[str, list]:
        """Every weight as columns of a table, attribute, before, label and weight, the largest first.

        ``pandas.DataFrame(tagger.weights())`` is a frame of them.
        """
        from loglin.models.weights import weights_table

        require_fitted(self)
        return weights_table(self.model_)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """(attribute, label) → weight."""
        from loglin.models.weights import state_weights

        require_fitted(self)
        return state_weights(self.model_)

    @property
    def transition_features_(self) -> dict[tuple, float]:
        """(label, following label) → weight; of second order three labels."""
        from loglin.models.weights import transition_weights

        require_fitted(self)
        return transition_weights(self.model_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the attributes that have weights."""
        from loglin.models.weights import attribute_names

        require_fitted(self)
        return np.array(attribute_names(self.model_), object)

    def score(self, X: Iterable, y: Iterable[Sequence], vectors: Any = None) -> float:
        """F1 of phrases for chunk labels, else accuracy of tokens."""
        result = self.evaluate(X, y, vectors)
        return result.f1 if result.unit == "phrase" else result.accuracy


def _of_one(vectors: Any) -> list | None:
    """The vectors of one sentence as those of several are given."""
    return None if vectors is None else [vectors]


def _word(token: object) -> str:
    if isinstance(token, str):
        return token
    if isinstance(token, tuple | list) and token and isinstance(token[0], str):
        return token[0]
    return str(token)
