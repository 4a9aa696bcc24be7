"""The component ``loglin`` of spaCy's pipelines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from loglin.errors import LoglinError
from loglin.spacy.tasks import TASKS, VECTORS, Task

FILE = "loglin.model"  # in the folder of the component

if not Span.has_extension("probability"):
    Span.set_extension("probability", default=None)


class Component(Pipe):
    """A model of loglin in a pipeline: entities, tags, parts of speech, or categories of texts.

    It learns from all its examples at once: from those of ``nlp.initialize`` then and there; from those together with
    further ones of ``nlp.update`` when it is next asked for an answer, or saved, beginning with the weights it has.
    """

    def __init__(self, name: str, task: Task, model: str = "", settings: dict[str, Any] | None = None):
        self.name, self.task, self.path, self.settings = name, task, model, settings or {}
        self._estimator: Any = None
        self._gold: list[tuple[Any, Any, Any]] = []  # what examples say
        self._known: set[str] = set()
        self._stale = False  # whether there are examples that the model has not seen

    @property
    def estimator(self) -> Any:
        """The trained ``Tagger`` or ``MaxEnt``."""
        if self._stale:
            start = getattr(self._opened(), "model_", None)
            self._estimator = self.task.learned(self._gold, self.settings, start)
            self._stale = False
        found = self._opened()
        if found is None:
            raise LoglinError(
                f"the component {self.name} has no model yet; give it the file of one in its config, as model, or "
                "examples with nlp.initialize"
            )
        return found

    def _opened(self) -> Any:
        """The estimator, of the file that the config names if there is none yet; None if it names none."""
        if self._estimator is None and self.path:
            self._estimator = self.task.opened(self.path)
        return self._estimator

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model; none, if there is none yet."""
        known = self._stale or self._estimator is not None or os.path.exists(self.path)
        return tuple(map(str, self.estimator.classes_)) if known else ()

    # ------------------------------------------------------------------ documents

    def __call__(self, doc: Doc) -> Doc:
        self.task.annotate([doc], self.estimator)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        handle = self.get_error_handler()
        for docs in minibatch(stream, size=batch_size):
            docs = list(docs)
            try:
                self.task.annotate(docs, self.estimator)
                yield from docs
            except Exception as error:
                handle(self.name, self, docs, error)

    def score(self, examples: Iterable[Any], **given: Any) -> dict[str, Any]:
        return self.task.score(examples, self.estimator)

    # ------------------------------------------------------------------ training

    def initialize(
        self, get_examples: Callable[[], Iterable[Any]], *, nlp: Language | None = None, data: str | None = None
    ) -> None:
        """Learn from examples, or from the file ``data``, of any format that ``loglin train`` reads.

        A component whose config names a model keeps it.
        """
        if self.path:
            return
        if data is not None:
            self._estimator, self._stale = self.task.learned_from(data, self.settings), False
            return
        gold = [one for example in get_examples() for one in self.task.gold(example.reference)]
        if gold:
            self._gold, self._known, self._stale = gold, set(map(_key, gold)), True
            self._estimator = None
            _ = self.estimator

    def update(
        self, examples: Iterable[Any], *, drop: float = 0.0, sgd: Any = None, losses: dict[str, float] | None = None
    ) -> dict[str, float]:
        """Remember new examples, to learn from all of them when the model is next used."""
        for example in examples:
            for gold in self.task.gold(example.reference):
                if _key(gold) not in self._known:
                    self._known.add(_key(gold))
                    self._gold.append(gold)
                    self._stale = True
        found = {} if losses is None else losses
        found.setdefault(self.name, 0.0)
        return found

    # ------------------------------------------------------------------ files

    def to_disk(self, path: str | os.PathLike, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self._stale or self._opened() is not None:
            self.estimator.save(folder / FILE)

    def from_disk(self, path: str | os.PathLike, *, exclude: Iterable[str] = ()) -> Component:
        """Open the model of a folder."""
        file = Path(path) / FILE
        if file.exists():
            self._estimator, self._stale = self.task.opened(file), False
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The bytes of the model's file; none, if there is no model."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder)
            file = Path(folder) / FILE
            return file.read_bytes() if file.exists() else b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Open a model of such bytes, which execute nothing."""
        if data:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                (Path(folder) / FILE).write_bytes(data)
                self.from_disk(folder)
        return self


def _key(gold: tuple[Any, Any, Any]) -> str:
    """What tells examples apart: input and answer, which vectors follow from."""
    return repr(gold[:2])


@Language.factory(
    "loglin",
    assigns=["doc.ents", "doc.cats", "token.ent_iob", "token.ent_type", "token.tag", "token.pos"],
    default_config={
        "task": "ner",
        "model": "",
        "settings": {},
        "columns": ["text"],
        "vectors": "",
        "overwrite": True,
    },
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0},
)
def make_component(
    nlp: Language,
    name: str,
    task: str,
    model: str,
    settings: dict[str, Any],
    columns: list[str],
    vectors: str,
    overwrite: bool,
) -> Component:
    """The component as a pipeline's config describes it."""
    if task not in TASKS:
        raise LoglinError(f"the task of the component {name} is {task!r}; give one of {', '.join(TASKS)}")
    if vectors not in VECTORS:
        known = ", ".join(repr(word) for word in VECTORS)
        raise LoglinError(f"the vectors of the component {name} are {vectors!r}; give one of {known}")
    if not columns:
        raise LoglinError(f"the component {name} looks at no columns; give some, such as text and tag")
    for column in columns:
        if column != "text" and not hasattr(Doc(nlp.vocab, words=["x"])[0], f"{column}_"):
            raise LoglinError(
                f"the column {column!r} of the component {name} is no attribute of tokens; give text, lower, lemma, "
                "tag, pos, shape, …"
            )
    return Component(name, TASKS[task](tuple(columns), vectors, overwrite), model, settings)
