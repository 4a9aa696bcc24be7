"""``CRF``: sklearn-crfsuite's estimator."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from loglin.crfsuite.items import pairs_of
from loglin.crfsuite.tagger import Tagger, bytes_of, model_in
from loglin.crfsuite.trainer import Trainer
from loglin.errors import LoglinError
from loglin.estimators.parameters import Estimator

if TYPE_CHECKING:
    from loglin.crfsuite.info import ParsedDump
    from loglin.crfsuite.log_parser import TrainLogParser
    from loglin.estimators.tagger import Tagger as Whole
    from loglin.models.chain import Model

_NAMES = {  # parameters whose names a trainer writes differently
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}
_OWN = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls", "threads", "seed")


class CRF(Estimator):
    """A conditional random field with the parameters, methods and attributes of sklearn-crfsuite's CRF.

    Parameters
    ----------
    algorithm : "lbfgs" (the default), "l2sgd", "ap", "pa" or "arow".
    min_freq : features whose values sum to less are left out.
    all_possible_states, all_possible_transitions : weights for pairs that do not occur in the training data.
    c1, c2 : the penalty is c1·Σ|w| + c2·Σw² (c1: lbfgs; c2: lbfgs, l2sgd).
    max_iterations : the most iterations, or passes over the data.
    num_memories, epsilon, period, delta : how lbfgs searches and when it ends; epsilon also of ap, pa and arow.
    linesearch, max_linesearch, calibration_… : taken, and answered with a warning: they have no effect.
    pa_type, c, error_sensitive, averaging : of pa.
    variance, gamma : of arow.
    verbose : print the training log.
    model_filename : the file that ``fit`` writes and that is opened where nothing was fitted; None: no file.
    keep_tempfiles : do not remove the file that ``modelfile.name`` makes.
    trainer_cls : a subclass of loglin.crfsuite.Trainer.
    threads, seed : loglin's own; by default all cores. The weights are the same for any number of threads.
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | os.PathLike | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type | None = None,
        *,
        threads: int | None = None,
        seed: int = 0,
    ):
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.threads = threads
        self.seed = seed
        self.training_log_: TrainLogParser | None = None
        self._tagger: Tagger | None = None
        self._info: ParsedDump | None = None
        self.modelfile = ModelFile(self)

    def set_params(self, **params: Any) -> Self:
        """Set parameters."""
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise LoglinError(f"CRF has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    # ------------------------------------------------------------------ training

    def fit(self, X: Sequence, y: Sequence, X_dev: Sequence | None = None, y_dev: Sequence | None = None) -> Self:
        """Learn from sentences, each a list of attributes for every token, and their labels.

        ``X_dev`` and ``y_dev`` are scored after every iteration, for the log; they do not end training.
        """
        if (X_dev is None) != (y_dev is None):
            raise LoglinError("give both X_dev and y_dev, or neither")
        trainer = self._trainer()
        self._load(trainer, pairs_of(X, y), "loading training data", 0)
        if X_dev is not None:
            self._load(trainer, pairs_of(X_dev, y_dev, "_dev"), "loading dev data", 1)
        trainer.train("" if self.model_filename is None else self.model_filename, -1 if X_dev is None else 1)
        self._forget()
        self.training_log_ = trainer.logparser
        if trainer.model_ is None:
            raise LoglinError("there are no labels to learn from; give at least one sentence")
        self._adopt(trainer.model_)
        return self

    def _trainer(self) -> Trainer:
        if self.trainer_cls is not None and not issubclass(self.trainer_cls, Trainer):
            raise LoglinError(f"trainer_cls is {self.trainer_cls!r}; give a subclass of loglin.crfsuite.Trainer")
        params = {_NAMES.get(k, k.replace("calibration_", "calibration.")): v for k, v in self.get_params().items()}
        given = {k: v for k, v in params.items() if v is not None and k not in _OWN}
        chosen = self.trainer_cls or LinePerIterationTrainer
        trainer = chosen(algorithm=self.algorithm, params=given, verbose=self.verbose)
        trainer.threads, trainer.seed = self.threads, self.seed
        return trainer

    def _load(self, trainer: Trainer, pairs: Iterable[tuple], what: str, group: int) -> None:
        if self.verbose:
            from tqdm import tqdm

            pairs = tqdm(pairs, what)
        for xseq, yseq in pairs:
            trainer.append(xseq, yseq, group)

    def _adopt(self, model: Model) -> None:
        self._tagger, self._info = Tagger(), None
        self._tagger.threads = self.threads
        self._tagger.open_model(model)

    def _forget(self) -> None:
        self._tagger = self._info = None
        self.modelfile.cleanup()

    # ------------------------------------------------------------------ labels and probabilities

    @property
    def tagger_(self) -> Tagger | None:
        """The model as a ``Tagger``; None where nothing was fitted and no file is named."""
        if self._tagger is None and self.model_filename is not None and os.path.exists(self.model_filename):
            self._tagger = Tagger()
            self._tagger.threads = self.threads
            self._tagger.open(self.model_filename)
        return self._tagger

    @property
    def _ready(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("This CRF is not fitted yet; call fit, or name a model file that exists.")
        return tagger

    def predict(self, X: Iterable) -> list[list]:
        """The best labels of every sentence."""
        return self._ready.tag_all(X)

    def predict_single(self, xseq: Any) -> list:
        """The best labels of one sentence."""
        return self._ready.tag(xseq)

    def predict_marginals(self, X: Iterable) -> list[list[dict]]:
        """For every token a dict from label to probability."""
        return self._ready.marginals_of_all(X)

    def predict_marginals_single(self, xseq: Any) -> list[dict]:
        """The same for one sentence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Sequence, y: Sequence) -> float:
        """The share of tokens whose label is right."""
        from loglin.crfsuite.metrics import flat_accuracy_score

        return flat_accuracy_score(y, self.predict(X))

    # ------------------------------------------------------------------ the model

    @property
    def _facts(self) -> ParsedDump | None:
        if self._info is None and self.tagger_ is not None:
            self._info = self._ready.info()
        return self._info

    @property
    def classes_(self) -> list | None:
        """The labels."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model file in bytes."""
        return None if self._facts is None else int(self._facts.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have a weight."""
        return None if self._facts is None else len(self._facts.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have a weight."""
        return None if self._facts is None else list(self._facts.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights by (attribute, label)."""
        return None if self._facts is None else self._facts.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights by (label before, label)."""
        return None if self._facts is None else self._facts.transitions

    def as_tagger(self) -> Whole:
        """The model as ``loglin.Tagger``, which also explains, ranks, finds entities and keeps to label schemes."""
        from loglin.estimators.tagger import Tagger as Whole

        return Whole.from_model(self._ready.model)

    # ------------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_info": None, "_tagger": None}
        del state["modelfile"]
        if self._tagger is not None and self.model_filename is None:
            state["model"] = bytes_of(self._tagger.model)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("model", None)
        self.__dict__.update(state)
        self.modelfile = ModelFile(self)
        if content is not None:
            self._adopt(model_in(content))


class ModelFile:
    """The file of a CRF's model: the one that the user names, or a temporary one, made when its name is asked for."""

    def __init__(self, crf: CRF):
        self._crf = weakref.proxy(crf)
        self._temporary: str | None = None

    @property
    def auto(self) -> bool:
        """Whether the user has named no file."""
        return self._crf.model_filename is None

    @property
    def name(self) -> str | None:
        """The name of the file; None where nothing was fitted."""
        if not self.auto:
            return os.fspath(self._crf.model_filename)
        if self._temporary is None and self._crf._tagger is not None:
            handle, self._temporary = tempfile.mkstemp(".crfsuite", "model")
            os.close(handle)
            self._crf._tagger.model.save(self._temporary)
            if not self._crf.keep_tempfiles:
                self._finalizer = weakref.finalize(self, _remove, self._temporary)
        return self._temporary

    def cleanup(self) -> None:
        """Remove the temporary file, if there is one and it need not be kept."""
        if self._temporary is not None and not self._crf.keep_tempfiles:
            _remove(self._temporary)
        self._temporary = None


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


class LinePerIterationTrainer(Trainer):
    """A trainer that prints a line for each iteration, and a table of the labels at the end."""

    def on_iteration(self, log: str, info: dict) -> None:
        shown = [f"Iter {info['num']:<3}", f"time={info['time']:<5.2f}", f"loss={info['loss']:<8.2f}"]
        if "active_features" in info:
            shown.append(f"active={info['active_features']:<5}")
        if "avg_precision" in info:
            shown += [f"{name}={info[f'avg_{name.lower()}']:.3f}" for name in ("precision", "recall", "F1")]
            item, instance = info["item_accuracy_float"], info["instance_accuracy_float"]
            shown.append(f"Acc(item/seq)={item:.3f} {instance:.3f}")
        if "feature_norm" in info:
            shown.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print("  ".join(shown).strip())

    def on_optimization_end(self, log: str) -> None:
        last = self.logparser.last_iteration if self.logparser else None
        if last and last["scores"]:
            width = max(len("Label"), *map(len, last["scores"]))
            print(f"{'Label':{width}}  Precision  Recall     F1  Support")
            for label, score in sorted(last["scores"].items()):
                p, r, f1 = (x or 0.0 for x in (score.precision, score.recall, score.f1))
                print(f"{label:{width}}  {p:9.3f}  {r:6.3f}  {f1:5.3f}  {score.ref:7}")
        super().on_optimization_end(log)
