"""The app's pages: the only place where `model` meets the figures."""
