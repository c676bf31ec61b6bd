--- The signs of every view, in two sets. Pure.
local M = {}

---@class agent_lsp.Glyphs
local unicode = {
  open = "▾",
  closed = "▸",
  context = "◇",
  text = "✎",
  steer = "↳",
  queued = "○",
  running = { "·", "∙", "•", "∙" }, -- one cell, quiet
  done = "✓",
  failed = "✗",
  refused = "⊘",
  cancelled = "–",
  waiting = "⧗",
  paused = "⏸",
  active = "●",
  idle = "○",
  warn = "⚠",
  note = "⚠",
  answer = "›",
  route = "⇢",
  workflow = "≡",
  compaction = "⇣",
  quote = "│",
  cut = "…",
  between = " · ",
  minus = "−",
  plus = "+",
  up = "↑",
  down = "↓",
  thin = "\u{2009}",
  bar = { "█", "▓", "▒", "░" },
  free = "·",
  rule = "─",
}

---@type agent_lsp.Glyphs
local ascii = {
  open = "v",
  closed = ">",
  context = "<>",
  text = "*",
  steer = "->",
  queued = "o",
  running = { ".", "o", "O", "o" },
  done = "+",
  failed = "x",
  refused = "/",
  cancelled = "-",
  waiting = "?",
  paused = "||",
  active = "*",
  idle = "o",
  warn = "!",
  note = "!",
  answer = ">",
  route = "=>",
  workflow = "=",
  compaction = "~",
  quote = "|",
  cut = "...",
  between = ", ",
  minus = "-",
  plus = "+",
  up = "^",
  down = "v",
  thin = ",",
  bar = { "#", "=", "+", "-" },
  free = ".",
  rule = "-",
}

---@param use_ascii boolean?
---@return agent_lsp.Glyphs
function M.set(use_ascii)
  return use_ascii and ascii or unicode
end

return M
