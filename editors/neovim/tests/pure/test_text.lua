local MiniTest = require("mini.test")
local text = require("agent-lsp.text")
local eq = MiniTest.expect.equality

local T = MiniTest.new_set()

T["durations"] = function()
  eq({ text.duration(0), text.duration(99), text.duration(12449), text.duration(59999) }, { "0.0 s", "0.0 s", "12.4 s", "59.9 s" })
  eq({ text.duration(60000), text.duration(3725000) }, { "1 min 0 s", "1 h 2 min" })
  eq({ text.short_duration(12900), text.short_duration(65000) }, { "12s", "1m05s" })
end

T["tokens and money"] = function()
  eq({ text.tokens(0), text.tokens(999), text.tokens(6120), text.tokens(28000), text.tokens(1234567) }, { "0", "999", "6.1k", "28.0k", "1.2M" })
  eq({ text.thousands(7, " "), text.thousands(999, " "), text.thousands(1234, " "), text.thousands(1234567, ",") }, { "7", "999", "1 234", "1,234,567" })
  eq({ text.cost(0), text.cost(0.001), text.cost(0.041) }, { "", "<$0.01", "$0.04" })
end

T["times"] = function()
  eq(text.epoch_ms("1970-01-01T00:00:00Z"), 0)
  eq(text.epoch_ms("2026-01-01T10:00:00.250Z"), 1767261600250)
  eq(text.epoch_ms("2026-01-01T12:00:00+02:00"), 1767261600000)
  eq(text.epoch_ms("2024-02-29T23:59:59-01:30"), 1709256599000)
  eq({ text.epoch_ms(""), text.epoch_ms(nil), text.epoch_ms("soon") }, {})
end

T["cutting keeps whole signs and the width"] = function()
  eq(text.cut("hello world", 8, "…"), "hello w…")
  eq(text.cut("日本語のテキスト", 7, "…"), "日本語…")
  eq(text.cut("short", 8, "…"), "short")
  eq(text.cut("hello", 1, "..."), "")
end

T["tabs stop where the buffer's do"] = function()
  eq(text.expand_tabs("\ta\tb", 4), "    a   b")
  eq(text.expand_tabs("ab\tc", 8), "ab      c")
end

T["rows"] = function()
  local line, marks = text.row({ { "left " }, { "words that are too long", "A" } }, { { "right", "B" } }, 20, "…")
  eq(line, "left words t…  right")
  eq(vim.api.nvim_strwidth(line), 20)
  eq(marks, { { 5, 15, "A" }, { 17, 22, "B" } })
end

return T
