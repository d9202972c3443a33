"""Importing this module loads the code of all jobs, and what Numba loads before the first compiled function.

The fork server imports the module, so that the processes of the pieces do not load the same code again.
"""

from importlib import import_module

from numba.core.registry import cpu_target

from studies.gpu.jobs import JOBS

for _name in (*(job.module for job in JOBS.values()), "torch.utils.tensorboard"):
    import_module(_name)
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
