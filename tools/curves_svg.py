"""Two curves in one picture: what was measured and what it is held against."""

import math

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 36, 56
MEASURED, REFERENCE = "#1f5fa8", "#c2452d"
FEW = 60  # points that are marked one by one


def ticks(low, high):
    """Round values between the ends, five or so."""
    step = 10.0 ** math.floor(math.log10((high - low) / 5.0))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (k * step) <= 6.5)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def span(values):
    """Their ends with some room; a curve that hardly changes is not blown up."""
    low, high = min(values), max(values)
    room = max(0.06 * (high - low), 0.03 * max(abs(low), abs(high)), 1e-12)
    return low - room, high + room


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Picture:
    def __init__(self, xs, ys):
        self.x0, self.x1 = span(xs)
        self.y0, self.y1 = span(ys)
        self.lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
                      'font-size="13">' % (WIDTH, HEIGHT), '<rect width="100%" height="100%" fill="white"/>']

    def place(self, x, y):
        return (LEFT + (x - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (y - self.y0) / (self.y1 - self.y0) * (HEIGHT - TOP - BOTTOM))

    def text(self, x, y, anchor, words, colour="#333333", more=""):
        self.lines.append('<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s"%s>%s</text>' % (
            x, y, anchor, colour, more, escape(words)))

    def line(self, points, colour, width):
        self.lines.append('<polyline fill="none" stroke="%s" stroke-width="%g" points="%s"/>' % (
            colour, width, " ".join("%.1f,%.1f" % p for p in points)))

    def axes(self, x_label, y_label):
        for x in ticks(self.x0, self.x1):
            at = self.place(x, self.y0)
            self.line([(at[0], TOP), (at[0], HEIGHT - BOTTOM)], "#e2e2e2", 1)
            self.text(at[0], HEIGHT - BOTTOM + 18, "middle", "%.6g" % x)
        for y in ticks(self.y0, self.y1):
            at = self.place(self.x0, y)
            self.line([(LEFT, at[1]), (WIDTH - RIGHT, at[1])], "#e2e2e2", 1)
            self.text(LEFT - 6, at[1] + 4, "end", "%.6g" % y)
        self.line([(LEFT, TOP), (LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM)], "#333333", 1)
        self.text(0.5 * (LEFT + WIDTH - RIGHT), HEIGHT - 14, "middle", x_label)
        self.text(20, 0.5 * (TOP + HEIGHT - BOTTOM), "middle", y_label,
                  more=' transform="rotate(-90 20 %.1f)"' % (0.5 * (TOP + HEIGHT - BOTTOM)))

    def marks(self, points, colour, is_open):
        for x, y in points:
            self.lines.append('<circle cx="%.1f" cy="%.1f" r="4" stroke="%s" fill="%s"/>' % (
                self.place(x, y) + (colour, "white" if is_open else colour)))

    def curve(self, points, colour, width):
        self.line([self.place(x, y) for x, y in points], colour, width)


def draw(path, x_label, y_label, measured, reference, is_function):
    """Measured as a line, marked where there are few points; a reference of points as open circles."""
    both = measured + reference
    picture = Picture([x for x, _ in both], [y for _, y in both])
    picture.axes(x_label, y_label)
    if is_function:
        picture.curve(reference, REFERENCE, 3)
    picture.curve(measured, MEASURED, 1.4)
    if len(measured) <= FEW:
        picture.marks(measured, MEASURED, False)
    if not is_function:
        picture.marks(reference, REFERENCE, True)
    picture.text(LEFT + 8, TOP - 14, "start", "measured", MEASURED)
    picture.text(LEFT + 88, TOP - 14, "start", "reference", REFERENCE)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(picture.lines + ["</svg>"]) + "\n")
