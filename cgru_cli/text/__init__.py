"""Raw text to words, and words to ids."""
