"""Trees made into grammars and back: transformations, rules, unknown words, files that people read and edit."""
