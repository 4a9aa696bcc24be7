"""Save models of some cases with what they predict: python tests/golden/models.py FOLDER."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import loglin
from golden import data
from golden.cases import CASES, Fitted
from golden.run import predicted

SAVED = {
    "crf-1": "tag crf o1 float64 t1",
    "crf-2": "tag crf o2 float64 t1",
    "hmm": "tag hmm o2 float64 t1",
    "m-estimation": "tag m-estimation o1 float64 t1",
    "scaled": "tag piecewise decoding=scaled o1",
    "dictionary": "tag crf lexicon o1",
    "em": "tag em o2 float64 t1",
    "maxent-matrix": "max likelihood matrix",
    "maxent-attributes": "max likelihood dicts",
    "label-sets": "max likelihood sets",
    "ranking": "max ranking",
    "naive-bayes": "nb bernoulli joint lists",
    "parser-crf": "tree crf t1",
    "parser-pcfg": "tree pcfg t1",
    "language-cache": "lm cache",
    "kneser-ney": "lm kneser-ney",
}
INPUTS = {
    "tag": data.X_NEW, "max": data.EXAMPLES_NEW, "nb": data.EXAMPLES_NEW, "tree": data.PARSED, "lm": data.TEXT_NEW,
    "em": data.WORDS_NEW, "maxent-matrix": data.COUNTS_NEW, "maxent-attributes": data.DICTS_NEW,
    "ranking": data.PRONOUNS_NEW,
}  # fmt: skip


def predictions(name: str, path: Path) -> dict[str, list]:
    """What a saved model predicts: texts, and all numbers behind them as repr."""
    estimator = loglin.load(path)
    arguments = {}
    if name == "ranking":
        estimator.features, arguments = data.antecedent, {"candidates": data.PEOPLE_NEW}
    inputs = INPUTS.get(name, INPUTS[SAVED[name].split()[0]])
    texts, numbers = predicted(Fitted(estimator, inputs, arguments))
    return {"predictions": texts, "numbers": [repr(float(v)) for array in numbers for v in array.ravel()]}


def main() -> None:
    folder, expected = Path(sys.argv[1]), {}
    folder.mkdir(exist_ok=True)
    for name, case in SAVED.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            CASES[case]().estimator.save(folder / f"{name}.model")
        expected[name] = predictions(name, folder / f"{name}.model")
    (folder / "expected.json").write_text(json.dumps(expected, indent=0) + "\n")


if __name__ == "__main__":
    main()
