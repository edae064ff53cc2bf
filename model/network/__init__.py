"""The network: attention in the article's steps, GPT-2 and its sizes, its weights and their layout for speed."""
