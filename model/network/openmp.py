"""How PyTorch's idle threads wait; imported before torch, which reads this once.

By default OpenMP's threads wait for each other spinning. As soon as anything else uses a core, each waits spinning for
one that cannot run, and a short pass takes several times as long. Sleeping costs nothing measurable where the cores are
free. Whoever has set `OMP_WAIT_POLICY` has decided.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
