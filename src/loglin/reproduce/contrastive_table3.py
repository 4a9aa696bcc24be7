"""Table 3 of Smith and Eisner (2005): tagging dictionaries that say less and less, and spelling features against it.

dictionaries × criteria × priors on 24K words with 17 tags ──► all words tagged correctly, selected and oracle
"""

from __future__ import annotations

from collections.abc import Sequence

from loglin.reproduce.table import Progress, Row, Table
from loglin.reproduce.unlabeled_tagging import DICTIONARIES, EM, FULL, Curve, Data, contrastive, curve, load

WORDS, QUICK = 24_000, 3_000
CRITERIA = (
    *(contrastive(name, spelling) for name in ("delortrans1", "trans1", "length") for spelling in (False, True)),
    *EM,
)
QUICK_DICTIONARIES, QUICK_STRENGTHS = (FULL, "count ≥ 3"), (0.2, 1.0)
# dictionary → percent of all words, selected and oracle, of the criteria in the order above, EM once
PUBLISHED = dict(
    zip(
        DICTIONARIES,
        (
            ((78.3, 90.1), (80.9, 91.1), (90.4, 90.4), (88.7, 90.9), (87.8, 90.4), (87.1, 91.9), (78.0, 84.4)),
            ((72.3, 84.8), (80.2, 90.8), (80.8, 82.9), (88.1, 90.1), (68.1, 78.3), (76.9, 83.2), (77.2, 80.5)),
            ((69.5, 81.3), (79.5, 90.3), (77.0, 78.6), (78.7, 90.1), (65.3, 75.2), (73.3, 73.8), (70.1, 70.9)),
            ((65.0, 77.2), (78.3, 89.8), (71.7, 73.4), (78.4, 89.5), (62.8, 72.3), (73.2, 73.6), (66.5, 66.5)),
        ),
        strict=True,
    )
)
# dictionary → random tagging of all words in percent, ambiguous words, tags a token
PUBLISHED_TEXT = dict(
    zip(
        DICTIONARIES,
        ((69.5, 13_150, 2.3), (60.5, 13_841, 3.7), (56.6, 14_780, 4.4), (51.0, 15_996, 5.5)),
        strict=True,
    )
)
SETTING = (
    "The first {words:,} words of the treebank sample, its 45 tags projected onto 17, priors as in "
    "contrastive-figure2; the development text is the last {development:,} words, unlabelled. The full dictionary has "
    "every tag that a word has in the sample; diluted ones only know the words named, as they occur in these "
    "{words:,} words, and allow all others every tag. The paper's dictionary is more ambiguous than ours, and how it "
    "projects its tags is not told: compare orders and gaps, not scores."
)
REMARKS = [
    SETTING,
    "Accuracy is that of the best tag sequence on the training text. Selected: the prior under which the criterion is "
    "best on the development text. Oracle: the most accurate on the training text itself. The paper's EM was "
    "“initialized uniformly”, which both starts of ours are: emissions of 1 / (words of the tag), or of 1 / (all "
    "words). The same published numbers stand beside both.",
]

Curves = dict[str, dict[str, Curve]]  # dictionary → criterion → curve


def run(quick: bool, progress: Progress, threads: int | None) -> Table:
    return make_table(*runs(quick, progress, threads))


def runs(quick: bool, progress: Progress, threads: int | None) -> tuple[Data, Curves]:
    """What Table 3 and Figure 3 are made of."""
    data = load(QUICK if quick else WORDS, coarse=True)
    dictionaries, strengths = (QUICK_DICTIONARIES, QUICK_STRENGTHS) if quick else (DICTIONARIES, None)
    found: Curves = {}
    for how in dictionaries:
        diluted = data.diluted(how)
        found[how] = {c.name: curve(c, diluted, strengths, how, progress, threads) for c in CRITERIA}
    return data, found


def make_table(data: Data, curves: Curves) -> Table:
    rows: list[Row] = []
    for how, found in curves.items():
        published = (*PUBLISHED[how], PUBLISHED[how][-1])  # of EM for both starts
        for (name, c), theirs in zip(found.items(), published, strict=True):
            rows += c.rows(f"{name}, {how}", False, theirs)
        random, ambiguous, tags = PUBLISHED_TEXT[how]
        report = c.runs[0].report  # what the dictionary leaves to choose is the same under every criterion
        rows += [
            c.random(how, False, random),
            Row(f"text, {how}", "ambiguous words", ambiguous, report.ambiguous),
            Row(f"text, {how}", "tags per token", tags, report.tags_per_token, digits=1),
        ]
    title = "Tagging without labels: diluted dictionaries and spelling features, all words"
    return Table("contrastive-table3", title, rows, remarks_of(data, REMARKS))


def remarks_of(data: Data, remarks: Sequence[str]) -> list[str]:
    sizes = {"words": data.training.n_words, "development": data.development.n_words}
    return [remark.format(**sizes) for remark in remarks]
