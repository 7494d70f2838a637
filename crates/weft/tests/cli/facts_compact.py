"""Does to the facts of an archive what engines do to tables that are long in use: compacts, checkpoints, cleans up.

Argument: the folder of the facts.
"""

import pathlib
import sys

import deltalake

facts = pathlib.Path(sys.argv[1])
for name in "captures", "links":
    table = deltalake.DeltaTable(str(facts / name))
    before = len(table.file_uris())
    table.optimize.compact()
    table = deltalake.DeltaTable(str(facts / name))
    assert len(table.file_uris()) < before, (name, before)
    table.create_checkpoint()
    gone = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert len(gone) == before, (name, before, gone)
    # As after the time for which commits are kept.
    log = facts / name / "_delta_log"
    newest = max(log.glob("*.checkpoint.parquet")).name[:20]
    for commit in log.glob("*.json"):
        if commit.name[:20] <= newest:
            commit.unlink()
    print(name, before, "files became", len(table.file_uris()))
