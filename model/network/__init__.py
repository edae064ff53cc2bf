"""The pass: the article's attention steps, GPT-2, its sizes and weights, and how they are laid out for speed."""
