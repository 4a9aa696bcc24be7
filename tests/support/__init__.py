"""What several test files share: small problems, corpora, commands, and what must hold of them."""
