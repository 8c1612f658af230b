"""Ring 1 of the tests: what a change needs, within a budget of time, chosen by imports and recorded durations.

python -m scripts.rings                    # make check: the tests for what differs from HEAD, else for the last commit
python -m scripts.rings --since REVISION   # for all that differs from a revision
python -m scripts.rings.record REPORT.json  # keep durations of a run of pytest with --lanes-report
python -m scripts.rings.night              # make night: everything, in groups with a report each
"""
