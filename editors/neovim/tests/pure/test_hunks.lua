local MiniTest = require("mini.test")
local golden = require("golden")
local hunks = require("agent-lsp.hunks")
local eq = MiniTest.expect.equality

local T = MiniTest.new_set()

local function hunk(id, first, after, base, new, more)
  return vim.tbl_extend("force", {
    hunkId = id,
    callId = "c" .. id,
    uri = "file:///p/a.go",
    range = { start = { line = first, character = 0 }, ["end"] = { line = after, character = 0 } },
    baseText = base,
    newText = new,
    status = "pending",
  }, more or {})
end

local options = { lines = 20, width = 40, gutter = 6, tabstop = 4, current = "1", keys = { "ay accept", "an reject", "]x next" }, why = { c1 = "step 5" } }

local function words(marks)
  local out = {}
  for _, m in ipairs(marks) do
    local o = m.opts
    if o.virt_lines then
      out[#out + 1] = ("%d virtual %s%s"):format(m.row, o.virt_lines_above and "above" or "below", o.virt_lines_leftcol and " from the left" or "")
      for _, line in ipairs(o.virt_lines) do
        for _, piece in ipairs(line) do
          out[#out + 1] = ("    %s %q"):format(piece[2]:gsub("^AgentLsp", ""), piece[1])
        end
      end
    elseif o.virt_text then
      out[#out + 1] = ("%d hint %q"):format(m.row, o.virt_text[1][1])
    else
      out[#out + 1] = ("%d %s sign %s (%s)"):format(m.row, o.line_hl_group or "-", o.sign_text, o.sign_hl_group)
    end
  end
  return out
end

local cases = {
  change = { hunk("1", 4, 6, "\told\n", "\tnew\n\tnewer\n"), hunk("2", 9, 10, "a\nb\n", "c\n") },
  insertion = { hunk("1", 4, 5, "", "new\n") },
  deletion = { hunk("1", 4, 4, "gone\n", "") },
  ["deletion-at-the-end"] = { hunk("1", 20, 20, "gone\n", "") },
  ["first-line"] = { hunk("1", 0, 1, "old\n", "new\n") },
  ["no-final-newline"] = { (hunk("1", 19, 19, "old", "new", { range = { start = { line = 19, character = 0 }, ["end"] = { line = 19, character = 3 } } })) },
  conflict = { hunk("1", 4, 5, "old\n", "agent's\n", { status = "conflict" }) },
  held = { hunk("1", 4, 5, "old\n", "new\nnewer\n", { held = true }) },
  ["held-insertion"] = { hunk("1", 4, 4, "", "new\n", { held = true }) },
  created = { hunk("1", 0, 2, "", "a\nb\n", { file = "created" }) },
}

for name, list in pairs(cases) do
  T["golden: " .. name] = function()
    golden.equal("hunks-" .. name, words(hunks.marks(list, options)))
  end
end

T["every mark is inside the buffer"] = function()
  for _, list in pairs(cases) do
    for _, lines in ipairs({ 1, 5, 20 }) do
      for _, m in ipairs(hunks.marks(list, vim.tbl_extend("force", options, { lines = lines }))) do
        eq(m.row >= 0 and m.row < lines, true)
      end
    end
  end
end

T["a hint without room at a row's end goes up, then gets a line of its own"] = function()
  local h = { hunk("1", 4, 6, "", "a\nb\n") }
  local function at(room)
    local list = hunks.marks(h, vim.tbl_extend("force", options, { room = room }))
    local m = list[#list]
    return { m.row, m.opts.virt_text and "beside" or "below" }
  end
  local function only(wide)
    return function(row)
      return row == wide and 99 or 3
    end
  end
  local function said(cells)
    local list = hunks.marks(h, vim.tbl_extend("force", options, { room = function() return cells end }))
    return list[#list].opts.virt_text[1][1]
  end
  eq(said(99), "  hunk 1 of 1 · ay accept · an reject · ]x next · why: step 5")
  eq(said(50), "  hunk 1 of 1 · ay accept · an reject · ]x next")
  eq(said(40), "  hunk 1 of 1 · ay accept · an reject")
  eq(at(only(5)), { 5, "beside" })
  eq(at(only(4)), { 4, "beside" })
  eq(at(only(nil)), { 5, "below" })
end

T["the hunk under the cursor"] = function()
  local list = { hunk("1", 4, 6, "", "a\nb\n"), hunk("2", 9, 9, "x\n", "") }
  local function at(row)
    local h = hunks.at(list, row)
    return h and h.hunkId
  end
  eq({ at(3), at(4), at(5), at(6), at(8), at(9), at(10) }, { nil, "1", "1", nil, "2", "2", nil })
end

T["next and previous"] = function()
  local list = { hunk("1", 4, 6, "", "a\nb\n"), hunk("2", 9, 10, "x\n", "y\n"), hunk("3", 12, 13, "x\n", "y\n") }
  local function beside(row, step)
    local h = hunks.beside(list, row, step)
    return h and h.hunkId
  end
  eq({ beside(0, 1), beside(4, 1), beside(9, 1), beside(12, 1) }, { "1", "2", "3", nil })
  eq({ beside(19, -1), beside(12, -1), beside(5, -1), beside(4, -1) }, { "3", "2", "1", nil })
end

T["a range of lines takes the hunks that it touches"] = function()
  local h = hunk("1", 4, 6, "", "a\nb\n")
  eq({ hunks.within(h, 0, 3), hunks.within(h, 0, 4), hunks.within(h, 5, 9), hunks.within(h, 6, 9) }, { false, true, true, false })
  local gone = hunk("2", 4, 4, "x\n", "")
  eq({ hunks.within(gone, 4, 4), hunks.within(gone, 0, 2) }, { true, false })
end

T["words for lists"] = function()
  local h = hunk("1", 4, 6, "same\nold\n", "same\n  new one\n")
  eq(hunks.size(h), "+2 −2")
  eq(hunks.size(h, true), "+2 -2")
  eq(hunks.summary(h), "new one")
end

return T
