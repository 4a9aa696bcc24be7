"""What criteria on trees read of sentences."""

from loglin.corpus.columns import from_sentences
from loglin.features.extract import TemplateExtractor
from loglin.features.template import parse_templates
from loglin.generative.lexicon import Lexicon
from loglin.models.parser import tree_design


def test_words_that_training_did_not_see_have_no_attribute():
    extractor = TemplateExtractor(parse_templates("U00:%x[0,0]\nU01:%suffix[0,0,1]"))
    extractor.fit(from_sentences([["ab", "cd"]]))
    lexicon = Lexicon.count([[("ab", "N"), ("cd", "V")]], {"N": 0, "V": 1})
    other = from_sentences([["ab", "xb", "xy"]])
    tokens = tree_design(other, lexicon, extractor.transform(other), None).tokens
    assert tokens.indptr.tolist() == [0, 2, 3, 3]
    assert [extractor.attribute_name(a) for a in tokens.indices] == ["U00:ab", "U01:b", "U01:b"]
