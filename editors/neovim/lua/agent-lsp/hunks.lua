--- Pending hunks of one buffer: hunks in, extmarks out. Pure; rows are 0-based.
local glyphs = require("agent-lsp.glyphs")
local text = require("agent-lsp.text")

local M = {}

--- An extmark to set.
---@class agent_lsp.Mark
---@field row integer
---@field col integer
---@field opts table for nvim_buf_set_extmark

---@class agent_lsp.HunkOptions
---@field lines integer of the buffer
---@field width integer cells of the window's text and gutter
---@field gutter integer cells before the text
---@field tabstop integer
---@field ascii? boolean
---@field room? fun(row: integer): integer cells free behind a row's text; absent: enough
---@field current? string the hunk that the cursor is on: it shows its keys
---@field keys? string[] what the current hunk says after its number, the most needed first
---@field why? table<string, string> by call id: the step that made it

local KEYS_MIN = 2 -- that a hint names even where there is little room
local MARK_PRIORITY = 180 -- above syntax (100) and semantic tokens (125), below diagnostics' text

--- The lines of a text; a final line break begins no line.
---@param s string
---@return string[]
function M.lines(s)
  if s == "" then
    return {}
  end
  local out = text.lines(s)
  if out[#out] == "" then
    out[#out] = nil
  end
  return out
end

--- "+6 −2"
---@param h agent_lsp.Hunk
---@param ascii boolean?
function M.size(h, ascii)
  local g = glyphs.set(ascii)
  return ("%s%d %s%d"):format(g.plus, #M.lines(h.newText), g.minus, #M.lines(h.baseText))
end

--- The first changed line, for lists.
---@param h agent_lsp.Hunk
function M.summary(h)
  local old, seen = M.lines(h.baseText), {}
  for _, line in ipairs(old) do
    seen[line] = true
  end
  local new = M.lines(h.newText)
  for _, line in ipairs(new) do
    if not seen[line] and line:find("%S") then
      return text.clean(vim.trim(line))
    end
  end
  return text.clean(vim.trim(old[1] or new[1] or ""))
end

--- First row and the row after the last one, of what the hunk covers in the
--- buffer now: the new lines, or the old ones where it is held back.
---@param h agent_lsp.Hunk
---@return integer first, integer after
function M.span(h)
  local first, after = h.range.start.line, h.range["end"].line
  if h.range["end"].character > 0 then
    after = after + 1
  end
  return first, after
end

---@param h agent_lsp.Hunk
---@param row integer of the cursor
function M.touches(h, row)
  local first, after = M.span(h)
  if after > first then
    return row >= first and row < after
  end
  return row == first or row == first - 1
end

---@param h agent_lsp.Hunk
---@param first integer
---@param last integer inclusive
function M.within(h, first, last)
  local a, b = M.span(h)
  return a <= last and math.max(a, b - 1) >= first
end

--- Lines that are not in the buffer, each over the whole width.
local function virtual(lines, sign, sign_group, group, o)
  local out = {}
  for i, line in ipairs(lines) do
    local shown = text.clean(text.expand_tabs(line, o.tabstop))
    out[i] = {
      { text.pad(sign, o.gutter), sign_group },
      { text.pad(shown, math.max(0, o.width - o.gutter)), group },
    }
  end
  return out
end

--- What a hunk says of itself.
---@return string[]
local function heading(h, index, total)
  local words = { ("hunk %d of %d"):format(index, total) }
  if h.held then
    words[#words + 1] = "not written until accepted"
  end
  if h.file then
    words[#words + 1] = "file " .. h.file
  end
  if h.status == "conflict" then
    words[#words + 1] = "conflict: you changed these lines too"
  end
  return words
end

--- The hint and the row at whose end it has room: the last row of the hunk that
--- takes it, first with everything said, then with less. Nil: none; then it
--- gets a line of its own, whether the cursor is there or not, so that moving
--- the cursor shifts nothing.
---@return string words, integer? row
local function hint(h, index, total, first, last, o)
  local g = glyphs.set(o.ascii)
  local base = heading(h, index, total)
  local more = vim.list_extend({}, o.keys or {})
  local why = o.why and h.callId and o.why[h.callId]
  more[#more + 1] = why and "why: " .. why
  local function say(n)
    return "  " .. table.concat(vim.list_extend(vim.list_extend({}, base), more, 1, n), g.between)
  end
  local words, row
  for n = #more, math.min(KEYS_MIN, #more), -1 do
    words = say(n)
    for r = last, first, -1 do
      if not row and (not o.room or o.room(r) >= text.width(words)) then
        row = r
      end
    end
    if row then
      break
    end
  end
  if not row then
    words = say(#more)
  end
  return o.current == h.hunkId and words or "  " .. table.concat(base, g.between), row
end

---@param h agent_lsp.Hunk
---@param o agent_lsp.HunkOptions
local function marks_of(h, index, total, o)
  local g = glyphs.set(o.ascii)
  local first, after = M.span(h)
  local last_row = math.max(0, o.lines - 1)
  local out = {}
  local function add(row, opts)
    opts.priority = opts.priority or MARK_PRIORITY
    out[#out + 1] = { row = math.min(math.max(row, 0), last_row), col = 0, opts = opts }
  end
  local conflict = h.status == "conflict"
  local covered, number, group, sign = "AgentLspAdd", "AgentLspAddNr", "AgentLspAddSign", g.plus
  if h.held then
    covered, number, group, sign = "AgentLspDelete", "AgentLspDeleteNr", "AgentLspDeleteSign", g.minus
  end
  if conflict then
    group = "AgentLspConflictSign"
  end
  for row = first, math.min(after, o.lines) - 1 do
    add(row, {
      line_hl_group = covered,
      number_hl_group = number,
      sign_text = conflict and "!" or sign,
      sign_hl_group = group,
    })
  end
  local absent, v
  if h.held then
    absent = M.lines(h.newText)
    v = virtual(absent, g.plus, "AgentLspAddSign", "AgentLspAdd", o)
  else
    absent = M.lines(h.baseText)
    v = virtual(absent, g.minus, "AgentLspDeleteSign", "AgentLspDelete", o)
  end
  local empty = after <= first
  if #v > 0 then
    -- held: the new lines stand below the old ones. Otherwise the old ones stand above their replacement.
    local above = not h.held
    local row = h.held and math.max(first, after - 1) or first
    if row > last_row then -- past the end of the buffer
      above, row = false, last_row
    end
    if h.held and empty and first > 0 and first <= last_row then
      above = true
    end
    add(row, { virt_lines = v, virt_lines_above = above, virt_lines_leftcol = true })
  end
  if empty and first <= last_row then
    local marker = h.held and { g.plus, "AgentLspAddSign" } or { g.minus, "AgentLspDeleteSign" }
    add(first, { sign_text = marker[1], sign_hl_group = conflict and "AgentLspConflictSign" or marker[2] })
  end
  local last = math.min(empty and first or after - 1, last_row)
  local words, row = hint(h, index, total, math.min(first, last), last, o)
  if row then
    add(row, { virt_text = { { words, "AgentLspHint" } }, virt_text_pos = "eol", hl_mode = "combine" })
  else
    add(last, { virt_lines = { { { (" "):rep(o.gutter) }, { words, "AgentLspHint" } } }, virt_lines_leftcol = true })
  end
  return out
end

--- The extmarks of one buffer's hunks, in the hunks' order.
---@param hunks agent_lsp.Hunk[] from top to bottom
---@param o agent_lsp.HunkOptions
---@return agent_lsp.Mark[]
function M.marks(hunks, o)
  local out = {}
  for i, h in ipairs(hunks) do
    vim.list_extend(out, marks_of(h, i, #hunks, o))
  end
  return out
end

---@param hunks agent_lsp.Hunk[]
---@param row integer
---@return agent_lsp.Hunk?, integer?
function M.at(hunks, row)
  for i, h in ipairs(hunks) do
    if M.touches(h, row) then
      return h, i
    end
  end
end

--- The next hunk below a row, or the last above it.
---@param hunks agent_lsp.Hunk[]
---@param row integer
---@param step 1|-1
---@return agent_lsp.Hunk?
function M.beside(hunks, row, step)
  local found
  for _, h in ipairs(hunks) do
    local first = M.span(h)
    if step > 0 and first > row then
      return h
    elseif step < 0 and first < row and not (M.touches(h, row) and first == row) then
      found = h
    end
  end
  return found
end

return M
