"""The next token: probabilities, sampling, generation, and what each part adds to a logit."""
