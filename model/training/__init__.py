"""How the embedded model was made: its text, the trainer and the evaluation."""
