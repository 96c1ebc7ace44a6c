"""What the tests of perf/ share: a script without a suffix as a module."""

import importlib.machinery
import importlib.util


def load(path, name):
    """Returns the script at the path as a module of that name."""
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, loader)
    )
    loader.exec_module(module)
    return module
