"""The progress of training: lines where there is no terminal, a widget's bar in a notebook."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from loglin import Progress, Tagger
from loglin.drawing import progress as module

SENTENCES, LABELS = [["two", "cups"], ["3", "eggs"]], [["Q", "U"], ["Q", "N"]]


def test_lines_tell_iterations(capsys):
    progress = Progress()
    tagger = Tagger(optimizer="lbfgs", callbacks=[progress], threads=1).fit(SENTENCES, LABELS)
    first, history = capsys.readouterr().err.split("\n")[0], tagger.training_.record["history"]
    assert first.startswith(f"iteration 1  objective {history[0]['value']:,.2f}  active {history[0]['active']}")
    assert progress.values == [iteration["value"] for iteration in history]
    tagger.fit(SENTENCES, LABELS)
    assert len(progress.values) == len(history)


@pytest.fixture
def notebook(monkeypatch):
    """What IPython says of itself in a notebook."""
    kernel = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))


@pytest.mark.filterwarnings("ignore:IProgress not found")
def test_a_notebook_has_a_bar(notebook, capsys, monkeypatch):
    made = []
    monkeypatch.setattr(module, "_new_bar", lambda make=module._new_bar: made.append(make()) or made[-1])
    progress = Progress()
    Tagger(optimizer="lbfgs", tol=1e-9, callbacks=[progress], threads=1).fit(SENTENCES, LABELS)
    progress.close()
    assert type(made[0]).__module__.startswith("tqdm.")
    assert "leave" not in vars(made[0]) or made[0].leave
    assert made[0].n > 50
    assert f"iteration {len(progress.values)}" in made[0].desc


def test_elsewhere_there_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not module.in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not module.in_notebook()
