"""How annotations are checked while the tests run: beartype, with a whole number allowed where a float is asked for."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
