"""``Trainer``: sentences are appended, a model is trained and written to a file."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from loglin.corpus.labels import Gold, check_number, plain_labels
from loglin.crfsuite.algorithms import ALGORITHMS, FEATURES, Algorithm, algorithm_of
from loglin.crfsuite.items import items_of, labels_of
from loglin.crfsuite.log import HeldOut, Log
from loglin.crfsuite.log_parser import TrainLogParser
from loglin.features.attributes import AttributeExtractor, AttributeReader

if TYPE_CHECKING:
    from loglin.models.chain import Model
    from loglin.optimize.record import Iteration
    from loglin.problems.chains import ChainProblem


class BaseTrainer:
    """A data set, an algorithm with its parameters, and messages as CRFsuite's.

    Parameters
    ----------
    algorithm : "lbfgs" (the default), "l2sgd", "ap", "pa" or "arow".
    params : a dict of parameters; ``help(name)`` tells what each is, docs/crfsuite.md how it is honored.
    verbose : print messages.

    ``threads`` (default all cores) and ``seed`` are attributes, which CRFsuite does not have.
    """

    threads: int | None = None
    seed: int = 0
    model_: Model | None  # the last that was trained

    def __new__(cls, *given: Any, **more: Any) -> Self:
        self = super().__new__(cls)  # here, for subclasses that do not call __init__
        self.verbose, self.model_ = True, None
        self.clear()
        self.select("lbfgs")
        return self

    def __init__(self, algorithm: str | None = None, params: Mapping | None = None, verbose: bool = True):
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def message(self, message: str) -> None:
        """Take a message, a line or a part of one; to be overridden. By default it is printed if ``verbose``."""
        if self.verbose:
            print(message, end="")

    # ------------------------------------------------------------------ data

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Add a sentence: the attributes of its tokens, and their labels; a group can be held out in ``train``."""
        items = items_of(xseq)
        labels = labels_of(yseq, len(items))
        self._reader.add(items)
        self._codes.extend([self._labels.setdefault(label, len(self._labels)) for label in labels])
        self._groups.append(group)

    def clear(self) -> None:
        """Remove all sentences."""
        self._reader, self._labels = AttributeReader(zeros=True), dict[Any, int]()
        self._codes, self._groups = array("i"), array("q")

    # ------------------------------------------------------------------ parameters

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters are those by default again."""
        self._algorithm = ALGORITHMS[algorithm_of(algorithm, type)]
        self._values = {p.name: p.default for p in (*FEATURES, *self._algorithm.parameters)}

    def params(self) -> list[str]:
        """The names of the algorithm's parameters."""
        return list(self._values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        self._values[name] = self._algorithm.parameter(name).read(value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        return self._values[self._algorithm.parameter(name).name]

    def set_params(self, params: Mapping) -> None:
        """Set parameters by a dict."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters with their values."""
        return dict(self._values)

    def help(self, name: str) -> str:
        """What a parameter is."""
        p = self._algorithm.parameter(name)
        return f"{p.help} It has no effect here: {p.without}." if p.without else p.help

    # ------------------------------------------------------------------ training

    def _before_train(self) -> None:
        pass

    def train(self, model: str | os.PathLike, holdout: int = -1) -> None:
        """Train on all sentences but those of the group ``holdout``, on which every iteration is scored.

        The model is written to the file ``model``, in loglin's format; if that is empty, to none. It is ``model_`` too.
        """
        self._before_train()
        log = Log(self.message, self._algorithm, self._values)
        groups = np.array(self._groups, np.int64)
        chosen = groups != holdout
        if holdout >= 0:
            log.holdout(holdout)
        log.start()
        if not chosen.any() or not self._codes:
            warnings.warn(
                "there are no labels to learn from, so that no model is written; append sentences", stacklevel=2
            )
            return
        self._algorithm.warn(self._values)
        problem, held_out = self._problem(np.flatnonzero(chosen), np.flatnonzero(~chosen))
        log.features(problem.index.n_features)
        whole = _trained(self, problem, held_out, log)
        log.end(whole.record["stop"], whole.record["stopped"])
        log.storing()
        self.model_ = pruned = whole.prune()
        if os.fspath(model):
            pruned.save(model)
        features, attributes = (len(pruned.weights), len(whole.weights)), problem.extractor.n_attributes
        log.stored(features, (pruned.extractor.n_attributes, attributes), len(problem.labels))

    def _problem(self, chosen: np.ndarray, others: np.ndarray) -> tuple[ChainProblem, HeldOut | None]:
        from loglin.problems.chains import ChainProblem
        from loglin.problems.options import ChainOptions
        from loglin.threads import Threads

        values, labels = self._values, plain_labels(list(self._labels), floats=False)
        check_number(len(labels))
        options = ChainOptions(
            l1=values.get("c1", 0.0),
            l2=2 * values.get("c2", 0.0),
            all_features=values["feature.possible_states"],
            all_pairs=values["feature.possible_transitions"],
            by_value=True,
            cutoff=values["feature.minfreq"],
        )
        lists, codes = self._reader.lists(), np.array(self._codes, np.int32)
        sentence = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.offsets))
        extractor = AttributeExtractor(zeros=True)
        design = extractor.fit(lists.select(chosen) if len(others) else lists)
        gold = Gold.certain(codes[np.isin(sentence, chosen)], len(labels))
        problem = ChainProblem(design, extractor, labels, gold, options, threads=Threads(self.threads))
        if not len(others):
            return problem, None
        return problem, HeldOut(extractor.transform(lists.select(others)), codes[np.isin(sentence, others)], labels)


def _trained(trainer: BaseTrainer, problem: ChainProblem, held_out: HeldOut | None, log: Log) -> Model:
    """The model of a problem; ``log`` tells of every iteration."""
    from loglin.criteria.registry import criterion
    from loglin.optimize.reporter import Reporter
    from loglin.optimize.run import Run
    from loglin.training.fit import fit

    algorithm: Algorithm = trainer._algorithm
    values = trainer._values
    rule, before = algorithm.rule(values, problem.design.n_sentences, problem.design.n_tokens), 0

    def tell(iteration: Iteration, weights: np.ndarray) -> None:
        nonlocal before
        scores = [] if held_out is None else held_out.report(problem.model(weights), trainer.threads)
        log.iteration(iteration, weights, iteration.evaluations - before, scores)
        before = iteration.evaluations
        if rule is not None:
            rule(iteration, weights)

    how = {} if "num_memories" not in values else {"memory": values["num_memories"]}
    run = Run(
        algorithm.optimizer,
        values["max_iterations"],
        algorithm.tol(values),
        seed=trainer.seed,
        reporter=Reporter(tell, looks=True),
        **how,
    )
    with run.reporter.listening():
        return fit(problem, criterion(algorithm.criterion, "chain", algorithm.settings(values)), run)


class Trainer(BaseTrainer):
    """A trainer that reads its own messages: ``logparser`` holds all iterations, and ``on_…`` methods hear of them."""

    __doc__ += "\n\n" + BaseTrainer.__doc__.split("\n\n", 1)[1]  # type: ignore[operator, union-attr]

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Take a message; when it ends a part of the log, the method for that part is called if ``verbose``."""
        assert self.logparser is not None
        event = self.logparser.feed(message)
        if not self.verbose or event is None:
            return
        more = {"featgen_progress": self.logparser.featgen_percent, "iteration": self.logparser.last_iteration}
        getattr(self, f"on_{event}")(self.logparser.last_log, *([more[event]] if event in more else []))

    def on_start(self, log: str) -> None:
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        print(log, end="")

    def on_iteration(self, log: str, info: dict) -> None:
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        print(log, end="")

    def on_end(self, log: str) -> None:
        print(log, end="")
