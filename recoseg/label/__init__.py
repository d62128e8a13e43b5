"""Labelling with a model that learns as you click: what `recoseg label` runs.

What is done goes into `journal`, checked by `actions`; `label_state` and `marks` say what it amounts to,
and `label_folder` writes it as an ordinary dataset. `features`, `quick_learner` and `click_suggestions` are
the learner's, which runs in `learner_process`; `labelling` joins both, and `server` gives them addresses.
`folder_predictor` predicts new images.
"""
