"""The article's steps for one head, one block and the mask, recomputed one by one and checked."""
