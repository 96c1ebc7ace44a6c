"""Data parallelism by PyTorch's DistributedDataParallel."""

from bench import loops, peer, peer_model


def make(sizes, _layout, _rank, setting):
    """A loops.Loop."""
    model = peer_model.Model(sizes, setting["attention"])
    if setting["compiled"]:
        model.compile_parts()
    wrapped = peer.replicated(model)
    return loops.Loop(
        model, lambda batches: peer.accumulate(model, wrapped, batches)[0]
    )
