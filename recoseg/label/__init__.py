"""Labelling with a model that learns as you click: what `recoseg label` runs.

What is done goes into `journal`, checked by `actions`; `label_state` and `marks` say what it amounts to,
and `label_folder` writes it as an ordinary dataset. `features`, `quick`, `next_clicks` and `full_training`
are the learner's, which runs in `learner_process`; `labelling` joins both, and `server` gives them addresses.
"""
