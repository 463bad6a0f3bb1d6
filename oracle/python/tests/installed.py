"""What a wheel must do where nothing but it and its dependencies is installed."""

import importlib.metadata
import pathlib
import sysconfig

import leafproof as lp
import numpy as np

batch = lp.Batch.from_ijk(np.array([[0, 0, 0], [-1, -1, -1]], np.int32), [0, 1, 2])
fine = lp.refine(batch, 2)
lp.check_refine(batch, fine, 2)
backwards = fine.ijk.reshape(2, 8, 3)[:, ::-1].reshape(-1, 3)  # within each member
lp.check_refine(batch, (backwards, fine.offsets), 2)
try:
    lp.check_refine(batch, batch, 2)
except lp.Mismatch as mismatch:
    assert "[T-2]" in str(mismatch)
else:
    raise AssertionError("a wrong answer passed")
for op in lp.operations():
    lp.check(lp.Case.generate(op, 1, 1), "host")



@lp.against("dual", count=8)
def dual(case):
    return lp.answer(case, "host")


dual()
plugins = {plugin.name for plugin in importlib.metadata.entry_points(group="pytest11")}
assert "leafproof" in plugins, plugins

place = pathlib.Path(lp.__file__).parent
assert place.is_relative_to(sysconfig.get_path("purelib")) or place.is_relative_to(
    sysconfig.get_path("platlib")
), place
for name in ("py.typed", "_core.pyi"):
    assert (place / name).exists(), name
assert lp.__version__ == importlib.metadata.version("leafproof") != "0"
print("leafproof", lp.__version__, "in", place)
