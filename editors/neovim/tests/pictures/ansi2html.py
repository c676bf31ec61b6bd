"""Draws a terminal's screen, as `tmux capture-pane -e` prints it, as HTML."""
import html
import re
import sys

BASIC = ("#15171c #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #c8ccd4 "
         "#5c6370 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #ffffff").split()
FOREGROUND, BACKGROUND = "#e0e2ea", "#14161b"
SGR = re.compile(r"(\x1b\[[0-9;:]*m)")
OTHER = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|[\x0e\x0f]")
SWITCH = {1: ("bold", True), 2: ("dim", True), 3: ("italic", True), 4: ("underline", True), 7: ("reverse", True),
          9: ("struck", True), 22: ("bold", False), 23: ("italic", False), 24: ("underline", False),
          27: ("reverse", False), 29: ("struck", False)}


def palette(n):
    if n < 16:
        return BASIC[n]
    if n > 231:
        return "#%02x%02x%02x" % ((8 + 10 * (n - 232),) * 3)
    n -= 16
    return "#%02x%02x%02x" % tuple(0 if v == 0 else 55 + 40 * v for v in (n // 36, n // 6 % 6, n % 6))


def apply(state, numbers):
    while numbers:
        code = numbers.pop(0)
        if code == 0:
            state.clear()
        elif code in SWITCH:
            name, value = SWITCH[code]
            state[name] = value
            if code == 22:
                state["dim"] = False
        elif code in (38, 48, 58):
            name = {38: "fg", 48: "bg", 58: "line"}[code]
            kind = numbers.pop(0) if numbers else 0
            if kind == 5 and numbers:
                state[name] = palette(numbers.pop(0))
            elif kind == 2:
                state[name] = "#%02x%02x%02x" % tuple(numbers[:3])
                del numbers[:3]
        elif code in (39, 49):
            state.pop("fg" if code == 39 else "bg", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            state["fg"] = BASIC[code - 30 if code < 90 else code - 82]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            state["bg"] = BASIC[code - 40 if code < 100 else code - 92]


def span(state, text):
    fg, bg = state.get("fg", FOREGROUND), state.get("bg", BACKGROUND)
    if state.get("reverse"):
        fg, bg = bg, fg
    css = f"color:{fg};background:{bg}"
    if state.get("bold"):
        css += ";font-weight:bold"
    if state.get("dim"):
        css += ";opacity:.6"
    if state.get("italic"):
        css += ";font-style:italic"
    lines = [word for name, word in (("underline", "underline"), ("struck", "line-through")) if state.get(name)]
    if lines:
        css += ";text-decoration:" + " ".join(lines)
    return f'<span style="{css}">{shapes(html.escape(text))}</span>'


# Signs that the pictures' font lacks, drawn into one cell.
SHAPES = {
    "⧗": "M1 1H7L4.6 7L7 13H1L3.4 7Z",
    "⏸": "M1.4 2H3.4V12H1.4ZM4.8 2H6.8V12H4.8Z",
}


def shapes(text):
    for sign, path in SHAPES.items():
        text = text.replace(sign, '<svg style="width:1ch;height:13px;vertical-align:-2px" viewBox="0 0 8 14">'
                                  f'<path fill="currentColor" d="{path}"/></svg>')
    return text


def main():
    state, out = {}, []
    for part in SGR.split(sys.stdin.read()):
        if SGR.fullmatch(part):
            # a colon form names a colour space that the semicolon form lacks
            codes = re.sub(r"([34]8):2::?", r"\1;2;", part[2:-1])
            apply(state, [int(n or 0) for n in re.split("[;:]", codes)])
        elif part := OTHER.sub("", part):
            out.append(span(state, part))
    print('<meta charset="utf-8"><body style="margin:14px 16px;background:%s">'
          '<pre style="font:14px/18px DejaVu Sans Mono,monospace;margin:0">%s</pre>' % (BACKGROUND, "".join(out)))


main()
