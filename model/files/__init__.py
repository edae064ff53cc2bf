"""Where models come from: folders, the Hugging Face hub, and the library of a running app."""
