"""The page of all faults (faults.py --write)."""
from calls import CHANGES, INTERRUPTIBLE, LOOKS, MODES


def endings(campaign, calls, mode):
    codes = [code for point, code in campaign.codes.items()
             if point[3] in calls and point[4] == mode]
    all_done, killed = codes.count(0), codes.count(137)
    return f"{all_done}, {len(codes) - all_done - killed}, {killed}"


def page(results, campaign, states, seconds):
    """results: [(point, what was wrong)], a point: job, rank, number of the
    call, its name, mode; campaign: what faults.py knows of them."""
    seen = {point[3] for point, _ in results}
    lines = ["# A fault in every file call", "",
             f"`make check-faults`, a job of {campaign.ranks} ranks: "
             f"{len(results)} runs in {seconds / 60:.0f} min, each with one fault, and "
             f"{campaign.starts} next starts (one for each state that was "
             "left behind). The calls in the directory of the checkpoints "
             f"that change something ({', '.join(CHANGES)}), and those that "
             f"look ({', '.join(call for call in LOOKS if call in seen)}). "
             "What is read through a mapping is no call that could be failed; "
             "files that are shorter or other than they should be are those "
             "of tests/models/test_checkpoint.c and test_mapped_file.c. What "
             "closes a look (closedir, munmap) has no result that the program "
             "looks at, and no fault.", "",
             "A fault is bad when a committed checkpoint is lost, when the "
             "next start does not go on from the newest one, when it ends "
             "with other weights than the run without a fault, when something "
             "unfinished is left, when one of those that --keep-last keeps "
             "is gone or one that was there is changed, or when the faulty "
             "job itself goes on from an older one without a word, ends "
             "with other weights, or ends without them and does not say why.",
             "",
             "| job | rank | calls | " + " | ".join(MODES) + " | bad |",
             "|---|---|---|" + "---|" * (len(MODES) + 1)]
    for case in sorted({point[0] for point, _ in results}):
        for rank in range(campaign.ranks):
            mine = [(point, wrong) for point, wrong in results
                    if point[:2] == (case, rank)]
            runs = [sum(1 for point, _ in mine if point[4] == mode)
                    for mode in MODES]
            bad = sum(1 for _, wrong in mine if wrong)
            calls = len({point[2] for point, _ in mine})
            lines.append(f"| {case} | {rank} | {calls} | "
                         + " | ".join(map(str, runs)) + f" | {bad} |")
    lines += ["", "How the jobs with a fault ended: after their last "
              "iteration (one that has a checkpoint less says why), before "
              "with a reason, killed.", "",
              "| calls | " + " | ".join(MODES) + " |",
              "|---|" + "---|" * len(MODES)]
    for what, calls in ("change", CHANGES), ("look", LOOKS):
        lines.append(f"| {what} | " + " | ".join(
            endings(campaign, calls, mode) for mode in MODES) + " |")
    lines += ["", f"{len(campaign.repeated)} of the runs were made twice: "
              "mpirun itself had ended with 1, which is no code "
              "of the program."]
    lines += ["", f"Power that fails during the job that goes on "
              f"(tests/faults/power_loss.py): {states} states of the disk, "
              "none of which lost a committed checkpoint; without either the "
              "files' or the directories' fsync the same model finds losses."]
    lines += ["", "short means something to reads and writes, eintr to "
              + ", ".join(call for call in CHANGES + LOOKS
                          if call in INTERRUPTIBLE and call in seen)
              + " (where POSIX or Linux lets a signal interrupt the call); "
              "no space is no fault of a call that looks. Of looks "
              "in a row only the first is killed: the disk stays as it is."]
    return "\n".join(lines) + "\n"
