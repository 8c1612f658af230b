"""The drawings of docs/concepts: what is moving, where state is, what a checkpoint is, how a job lies on Spark."""

from __future__ import annotations

from millrace.util.charts import COLOURS, WRONG, Canvas

BLUE, AMBER, GREEN, VIOLET, *_ = COLOURS


def time() -> str:
    """Elements between the moment at which something happened and that at which they arrive."""
    canvas = Canvas(700, 240, "event time above, arrival below, and the watermark after each arrival")
    canvas.text(16, 22, "happened (event time)", bold=True)
    canvas.text(16, 192, "arrived", bold=True)
    left, unit, top, bottom = 190, 34, 40, 176
    canvas.line([(left, top), (690, top)], opacity=0.5, arrow=True)
    canvas.line([(left, bottom), (690, bottom)], opacity=0.5, arrow=True)
    for second in range(0, 15, 2):
        canvas.text(left + second * unit, top - 12, f"{second} s", anchor="middle", size=10, opacity=0.75)
    latest = 0
    for number, (happened, slot) in enumerate([(1, 1.5), (4, 4), (3, 6), (8, 9), (2, 11.5), (9, 13.5)]):
        late = number == 4
        colour = WRONG if late else BLUE
        x, to = left + happened * unit, left + slot * unit
        canvas.line([(x, top), (to, bottom)], colour, opacity=0.7)
        canvas.dot(x, top, colour)
        (canvas.cross if late else canvas.dot)(to, bottom, colour)
        latest = max(latest, happened)
        canvas.text(to, bottom + 20, f"{latest - 2} s", WRONG, anchor="middle", size=10)
    canvas.text(16, 214, "watermark after it", WRONG, size=10)
    canvas.text(16, 228, "(latest time - 2 s)", WRONG, size=10)
    canvas.text(left + 11.5 * unit, bottom + 40, "late: 2 s < 6 s", WRONG, anchor="middle", size=10)
    return canvas.svg(alone=True)


def state() -> str:
    """Elements on their way to the subtask that has their key, and its table."""
    canvas = Canvas(700, 250, "elements go to the subtask that owns their key, which has a row of state for each key")
    canvas.text(16, 22, "elements", bold=True)
    canvas.text(300, 22, "key_by", bold=True)
    canvas.text(440, 22, "subtasks, with state", bold=True)
    for row, (key, amount) in enumerate([("ann", 3), ("bob", 5), ("ann", 4), ("eve", 2), ("bob", 1)]):
        colour, to = (BLUE, 84) if key != "bob" else (AMBER, 190)
        y = 50 + row * 40
        canvas.rect(16, y - 14, 110, 26, colour)
        canvas.text(26, y + 4, f"{key}, {amount}")
        canvas.line([(130, y), (300, y), (400, to), (430, to)], colour, opacity=0.7, arrow=True)
    for y, title, rows, colour in (
        (38, "subtask 1", ("ann   sum = 7", "eve   sum = 2"), BLUE),
        (148, "subtask 2", ("bob   sum = 6",), AMBER),
    ):
        canvas.rect(436, y, 240, 90, colour)
        canvas.text(450, y + 22, title, bold=True)
        canvas.texts(450, y + 46, rows)
    return canvas.svg(alone=True)


def checkpoints() -> str:
    """Three epochs; the end of one is recorded; the third fails, and runs again."""
    canvas = Canvas(720, 270, "a stream cut into epochs, what is recorded at the end of one, and where a failure leads")
    canvas.text(16, 34, "stream", bold=True)
    colours = (BLUE, GREEN, AMBER)
    for number, colour in enumerate(colours):
        x = 110 + number * 190
        canvas.rect(x, 16, 180, 30, colour, fill=0.2)
        canvas.text(x + 90, 35, f"epoch {number + 1}", anchor="middle", bold=True)
        if number < 2:
            canvas.line([(x + 185, 8), (x + 185, 96)], dashed=True, opacity=0.7)
    for number, (what, then) in enumerate((("checkpoint 1", BLUE), ("checkpoint 2", GREEN))):
        x = 206 + number * 190
        canvas.rect(x, 100, 178, 92, then)
        canvas.text(x + 10, 120, what, bold=True)
        canvas.texts(x + 10, 140, ("places in the sources", "state of all keys", "what sinks prepared"), size=10)
    canvas.cross(630, 70, radius=9)
    canvas.text(600, 100, "a worker dies", WRONG, size=10)
    canvas.line([(630, 110), (630, 232), (485, 232), (485, 198)], WRONG, dashed=True, arrow=True)
    canvas.text(400, 250, "go on from checkpoint 2: epoch 3 runs again", WRONG, size=10)
    canvas.text(16, 214, "with a checkpoint's record sinks show", size=10, opacity=0.8)
    canvas.text(16, 228, "what they prepared: each epoch once", size=10, opacity=0.8)
    canvas.line([(250, 214), (285, 198)], opacity=0.6, arrow=True)
    return canvas.svg(alone=True)


def stages() -> str:
    """Source, map, exchange, windows and sink: two stages with two tasks each."""
    canvas = Canvas(760, 300, "two stages with two tasks each, an exchange of packets between them, and the driver")
    canvas.rect(16, 12, 728, 44, VIOLET)
    canvas.text(30, 30, "driver", bold=True)
    canvas.text(30, 46, "plans each epoch, hears what tasks acknowledge, records checkpoints", size=10)
    for column, (title, lines) in enumerate(
        (("stage 0", ("read a split", "parse", "assign times")), ("stage 1", ("windows", "state by key", "sink")))
    ):
        x = 40 + column * 410
        canvas.rect(x, 76, 270, 212, fill=0.03, dashed=True)
        canvas.text(x + 12, 94, f"{title}: one Spark stage", bold=True)
        for task in range(2):
            y = 106 + task * 90
            canvas.rect(x + 16, y, 238, 80, (BLUE, AMBER)[task])
            canvas.text(x + 28, y + 18, f"task {task + 1}", bold=True)
            canvas.texts(x + 28, y + 36, lines, size=10)
    for source in range(2):
        for target in range(2):
            colour = (BLUE, AMBER)[target]
            canvas.line([(296, 146 + source * 90), (462, 146 + target * 90)], colour, opacity=0.8, arrow=True)
    canvas.text(380, 110, "key_by:", anchor="middle", size=10)
    canvas.text(380, 124, "packets, through", anchor="middle", size=10)
    canvas.text(380, 274, "Spark's shuffle", anchor="middle", size=10)
    return canvas.svg(alone=True)
