--- The step tree: model and measurements in, rows out. Pure.
local calls = require("agent-lsp.calls")
local glyphs = require("agent-lsp.glyphs")
local markdown = require("agent-lsp.markdown")
local run_rows = require("agent-lsp.run_rows")
local text = require("agent-lsp.text")

local M = {}

local QUESTION_ROWS_MAX = 3
local RESULT_LINES_MAX = 40 -- of an opened call's result; the rest opens in a buffer of its own

--- One line of the panel.
---@class agent_lsp.Row
---@field key string stays the same while the tree grows
---@field text string
---@field marks table[] of {start, end, group, conceal?} in bytes
---@field data table what a key does here: kind, fold, place, …
---@field code? { lang: string, col: integer } the line is fenced code from that byte on

---@class agent_lsp.TreeOptions
---@field width integer
---@field ascii? boolean
---@field now? number milliseconds since 1970
---@field frame? integer of the spinner
---@field folds? table<string, boolean> what the person opened or closed, by key
---@field pending? table<string, integer> hunks to review by call id
---@field paused? boolean the run is, whatever its last event says
---@field cut_off? agent_lsp.CutOff the run that may be taken up again
---@field sent_again? table<string, boolean> unread steers that were, by message id
---@field telemetry? string what the running cycle is at
---@field keys? table<string, string> labels of the keys that rows offer
---@field latest? string id of the branch's last cycle

---@class agent_lsp.Painter: agent_lsp.TreeOptions
---@field g agent_lsp.Glyphs
---@field meta agent_lsp.CyclesMeta
---@field rows agent_lsp.Row[]
---@field active boolean the cycle being drawn is
---@field spinner string
---@field result_lines_max integer
local Painter = {}
Painter.__index = Painter

---@param meta agent_lsp.CyclesMeta
---@param opts agent_lsp.TreeOptions
local function painter(meta, opts)
  local g = glyphs.set(opts.ascii)
  return setmetatable({
    g = g,
    meta = meta,
    rows = {},
    width = opts.width,
    now = opts.now,
    folds = opts.folds or {},
    pending = opts.pending or {},
    telemetry = opts.telemetry,
    paused = opts.paused,
    cut_off = opts.cut_off,
    sent_again = opts.sent_again or {},
    keys = opts.keys or {},
    latest = opts.latest,
    spinner = g.running[((opts.frame or 1) - 1) % #g.running + 1],
    result_lines_max = RESULT_LINES_MAX,
  }, Painter)
end

---@param key string
---@param indent integer
---@param left agent_lsp.Piece[]
---@param right agent_lsp.Piece[]?
---@param data table?
function Painter:row(key, indent, left, right, data)
  if indent > 0 then
    table.insert(left, 1, { (" "):rep(indent) })
  end
  local line, marks = text.row(left, right, self.width, self.g.cut)
  self.rows[#self.rows + 1] = { key = key, text = line, marks = marks, data = data or { kind = "note" } }
end

---@param key string
---@param default boolean
function Painter:is_open(key, default)
  local chosen = self.folds[key]
  if chosen == nil then
    return default
  end
  return chosen
end

--- "[r] resume  [x] cancel" from pairs of key and word; the keys alone where
--- there is no room for more.
---@param room integer cells beside what the row says
---@param list string[]
local function offers(room, list)
  local out, cells = {}, 0
  local function build(with_words)
    out, cells = {}, 0
    for i = 1, #list, 2 do
      local key = (i > 1 and (with_words and "  " or " ") or "") .. "[" .. list[i] .. "]"
      local word = with_words and list[i + 1] ~= "" and " " .. list[i + 1] or ""
      out[#out + 1] = { key, "AgentLspKey" }
      out[#out + 1] = { word, "AgentLspDim" }
      cells = cells + text.width(key) + text.width(word)
    end
  end
  build(true)
  if cells > room - 2 then
    build(false)
  end
  return out
end

--- A row that says something and offers keys.
---@param key string
---@param indent integer
---@param left agent_lsp.Piece[]
---@param list string[] pairs of key and word
---@param data table
function Painter:offer(key, indent, left, list, data)
  local cells = indent
  for _, piece in ipairs(left) do
    cells = cells + text.width(piece[1])
  end
  self:row(key, indent, left, offers(self.width - cells, list), data)
end

---@param meta agent_lsp.CycleMeta?
---@param now number?
local function figures(p, meta, now)
  if not meta then
    return nil
  end
  local ms = meta.elapsedMs or 0
  local started = text.epoch_ms(meta.started)
  if (meta.ended or "") == "" and started and now then
    ms = math.max(0, now - started)
  end
  local words = { text.duration(ms) }
  if (meta.tokens or 0) > 0 then
    words[#words + 1] = text.tokens(meta.tokens) .. " tok"
  end
  if (meta.costUsd or 0) > 0 then
    words[#words + 1] = text.cost(meta.costUsd)
  end
  return { { table.concat(words, p.g.between), "AgentLspNumber" } }
end

--- A text in full: the first line behind its glyph, the others below it. Only
--- the last row changes while it streams.
---@param group string? for plain text; nil: markdown
local function body(p, key, s, glyph, group, data)
  local lines = text.lines((s:gsub("%s+$", "")))
  for i, line in ipairs(lines) do
    lines[i] = text.clean(line)
  end
  local shown = group and {} or markdown.lines(lines)
  local first = true
  for i, line in ipairs(lines) do
    local marks = group and { { 0, #line, group } } or shown[i].marks
    local fenced = not group and (shown[i].fence or shown[i].rule)
    local pieces = fenced and { { text = line, marks = marks } } or markdown.wrap(line, marks, p.width - 4)
    for j, piece in ipairs(pieces) do
      local prefix = first and "  " .. glyph .. " " or "    "
      local row = { key = ("%s/%d.%d"):format(key, i, j), text = (prefix .. piece.text):gsub("%s+$", ""), marks = {}, data = data }
      if first then
        row.marks[1] = { 2, #prefix, "AgentLspGlyph" }
      end
      for _, m in ipairs(piece.marks) do
        row.marks[#row.marks + 1] = { m[1] + #prefix, m[2] + #prefix, m[3], m[4] }
      end
      if not group and shown[i].fence then
        row.code = { lang = shown[i].fence, col = #prefix }
      end
      p.rows[#p.rows + 1] = row
      first = false
    end
  end
end

--- The assistant's or the reasoner's text: one line, unless it is the latest,
--- the answer, or opened.
local function text_item(p, step, key, in_full)
  local item = step.text
  local reasoning = item.kind == "reasoning"
  if vim.trim(item.text) == "" then
    if #step.groups == 0 and p.active then
      p:row(key, 2, { { p.g.text, "AgentLspGlyph" } }, reasoning and { { "reasoning", "AgentLspDim" } } or nil)
    end
    return
  end
  local first, more = text.first_line(item.text)
  local open = p:is_open(key, in_full and not reasoning)
  local data = { kind = "text", fold = key, open = open, text = item.text }
  if open then
    body(p, key, vim.trim(item.text), p.g.text, reasoning and "AgentLspReasoning" or nil, data)
    return
  end
  local shown = markdown.lines({ first })[1].marks
  table.sort(shown, function(a, b)
    return a[1] < b[1]
  end)
  local plain = first
  for i = #shown, 1, -1 do -- the marks' own signs would be noise in one cut line
    if shown[i][4] then
      plain = plain:sub(1, shown[i][1]) .. plain:sub(shown[i][2] + 1)
    end
  end
  local right = reasoning and { { "reasoning", "AgentLspDim" } } or nil
  if more > 0 and not right then
    right = { { ("+%d"):format(more), "AgentLspNumber" } }
  end
  p:row(key, 2, {
    { p.g.text .. " ", "AgentLspGlyph" },
    { plain, reasoning and "AgentLspReasoning" or "AgentLspText" },
  }, right, data)
end

local function steer(p, step, key, unread)
  local waits = unread[step.id]
  local first, more = text.first_line(step.text)
  local left = {
    { p.g.steer .. " ", "AgentLspSteer" },
    { "you: ", "AgentLspSteer" },
    { first .. (more > 0 and (" (+%d)"):format(more) or ""), "AgentLspSteer" },
  }
  local right = { { "steer", "AgentLspDim" } }
  if waits and p.active then
    right = { { "steer" .. p.g.between .. "unread", "AgentLspDim" } }
  elseif waits and p.sent_again[step.id] then
    waits, right = false, { { "steer" .. p.g.between .. "sent again", "AgentLspDim" } }
  elseif waits then
    local room = p.width - 2 - 2 -- where it is scarce the person's own words have it
    for _, piece in ipairs(left) do
      room = room - text.width(piece[1])
    end
    local words = "steer" .. p.g.between .. "never read  "
    words = text.width(words .. "[s] send again") <= room and words or "never read  "
    right = { { words, "AgentLspWait" } }
    vim.list_extend(right, offers(room - text.width(words) + 2, { "s", "send again" }))
  end
  p:row(key, 2, left, right, { kind = "steer", text = step.text, unread = waits and not p.active })
end

--- What a cycle waits for, or how it ended if not well.
local function ending(p, c, meta)
  local key = c.id .. "/standing"
  local state = meta.state
  local data = { kind = "standing", state = state }
  if p.active and (state == "paused" or p.paused) then
    p:offer(key, 2, {
      { p.g.paused .. " ", "AgentLspPaused" },
      { ("paused before step %d of %d"):format((meta.iter or 0) + 1, meta.max or 0), "AgentLspPaused" },
    }, { "r", "resume", "x", "cancel", "e", "escalate" }, data)
  elseif p.active and state == "asking" then
    p:offer(key, 2, { { p.g.waiting .. " waits for your answer", "AgentLspWait" } }, { "p", "answer", "x", "cancel" }, data)
  elseif p.active and state == "waiting" then
    p:offer(key, 2, { { p.g.waiting .. " waits for another run to end", "AgentLspDim" } }, { "x", "cancel" }, data)
  elseif p.active then
    local at = p.telemetry
    if not at or at == "" then
      at = (meta.iter or 0) > 0 and ("step %d of %d"):format(meta.iter, meta.max or 0) or "working"
    end
    p:row(key, 2, { { p.spinner .. " ", "AgentLspRunning" }, { text.first_line(at), "AgentLspDim" } }, nil, data)
  elseif c.status == "error" then
    local first = text.first_line(meta.stop or "")
    p:row(key, 2, { { p.g.failed .. " " .. (first ~= "" and first or "failed"), "AgentLspError" } }, nil, data)
  elseif c.status == "interrupted" and p.cut_off and p.cut_off.cycle == c.id then
    local at = (meta.iter or 0) > 0 and (" at step %d of %d"):format(meta.iter, meta.max or 0) or ""
    data.run = p.cut_off.id
    p:offer(key, 2, { { p.g.paused .. " interrupted" .. at, "AgentLspPaused" } }, { "r", "resume" }, data)
  elseif c.status == "interrupted" then
    local first = text.first_line(meta.stop or ""):gsub("; resume to go on$", "") -- what can be resumed is offered above
    local words = first ~= "" and "interrupted: " .. first or "interrupted"
    p:row(key, 2, { { p.g.cancelled .. " " .. words, "AgentLspDim" } }, nil, data)
  end
end

---@param p agent_lsp.Painter
---@param c agent_lsp.Cycle
---@param folded boolean? unless the person said otherwise
local function cycle(p, c, folded)
  local meta = p.meta.cycles[c.id]
  p.active = c.status == "active"
  local open = p:is_open(c.id, not folded)
  local first, more = text.first_line(c.root.text)
  first = first .. (more > 0 and (" (+%d)"):format(more) or "")
  local right = figures(p, meta, p.now)
  local asked = { { text = first } }
  if open then -- the question in full, as far as a few rows go
    local room = p.width - 2 - (right and text.width(right[1][1]) + 2 or 0)
    asked = markdown.wrap(first, {}, room)
    if #asked > QUESTION_ROWS_MAX then
      local kept = vim.list_slice(asked, 1, QUESTION_ROWS_MAX)
      kept[QUESTION_ROWS_MAX].text = kept[QUESTION_ROWS_MAX].text .. " " .. p.g.cut
      asked = kept
    end
  end
  local data = { kind = "root", fold = c.id, open = open, text = c.root.text, cycle = c.id }
  p:row(c.id, 0, {
    { (open and p.g.open or p.g.closed) .. " ", "AgentLspFold" },
    { asked[1].text, "AgentLspRoot" },
  }, right, data)
  if not open then
    return
  end
  for i = 2, #asked do
    p:row(c.id .. "/ask/" .. i, 2, { { asked[i].text, "AgentLspRoot" } }, nil, data)
  end
  run_rows.route(p, c.id, meta or {})
  if meta and (meta.planId or "") ~= "" then
    p:offer(c.id .. "/context", 2, {
      { p.g.context .. " ", "AgentLspGlyph" },
      { "context  ", "AgentLspTool" },
      {
        ("%s%s%s of %s tokens"):format(
          text.count(meta.contextItems or 0, "item"),
          p.g.between,
          text.tokens(meta.contextTokens or 0),
          text.tokens(meta.contextBudget or 0)
        ),
        "AgentLspDim",
      },
    }, { "c", "why?" }, { kind = "context", plan = meta.planId })
  end
  local unread = {}
  for _, id in ipairs(meta and meta.unread or {}) do
    unread[id] = true
  end
  for i = 2, #c.steps do
    local step, key = c.steps[i], ("%s/%d"):format(c.id, i - 1)
    if step.type == "steer" then
      steer(p, step, key, unread)
    else
      local latest = i == #c.steps
      text_item(p, step, key, latest and (p.active and #step.groups == 0 or not p.active))
      for j, group in ipairs(step.groups) do
        calls.group(p, group, ("%s/%d"):format(key, j - 1))
      end
    end
  end
  run_rows.notes(p, c.id, meta or {})
  run_rows.workflow(p, c.id, meta or {})
  ending(p, c, meta or {})
end

--- The rows of one cycle.
---@param c agent_lsp.Cycle
---@param meta agent_lsp.CyclesMeta
---@param opts agent_lsp.TreeOptions
---@param folded boolean? how the cycle is drawn unless the person said otherwise
---@return agent_lsp.Row[]
function M.cycle(c, meta, opts, folded)
  local p = painter(meta, opts)
  cycle(p, c, folded)
  return p.rows
end

--- The rows below the cycles: what waits in the queue, and what doesn't fit.
---@param m agent_lsp.Model
---@param opts agent_lsp.TreeOptions
---@param paused boolean? the queue waits to be resumed
---@return agent_lsp.Row[]
function M.tail(m, opts, paused)
  local p = painter({ cycles = {}, calls = {} }, opts)
  if paused and #m.queued > 0 then
    p:offer("queue", 0, { { p.g.paused .. " the queue waits since you stopped the run", "AgentLspPaused" } }, { "r", "resume" }, {
      kind = "queue",
    })
  end
  for i, q in ipairs(m.queued) do
    local first, more = text.first_line(q.text)
    p:offer("queued/" .. q.id, 0, {
      { p.g.queued .. " ", "AgentLspGlyph" },
      { "queued: ", "AgentLspDim" },
      { first .. (more > 0 and (" (+%d)"):format(more) or ""), "AgentLspText" },
    }, { "del", "", "K", p.g.up, "J", p.g.down }, { kind = "queued", id = q.id, index = i - 1, text = q.text })
  end
  for i, a in ipairs(m.anomalies) do
    p:row("anomaly/" .. i, 0, {
      { ("%s event %d: %s"):format(p.g.warn, a.index, (a.reason:gsub("-", " "))), "AgentLspDim" },
    })
  end
  return p.rows
end

--- A state command and its answer.
---@param a { input: string, content: string, ok: boolean }
---@param key string
---@param opts agent_lsp.TreeOptions
---@return agent_lsp.Row[]
function M.answer(a, key, opts)
  local p = painter({ cycles = {}, calls = {} }, opts)
  p:row(key, 0, { { p.g.answer .. " ", "AgentLspFold" }, { text.first_line(a.input), "AgentLspRoot" } })
  for i, line in ipairs(text.lines((a.content:gsub("%s+$", "")))) do
    local clean = "  " .. text.clean(line)
    p.rows[#p.rows + 1] = {
      key = key .. "/" .. i,
      text = clean,
      marks = { { 2, #clean, a.ok and "AgentLspText" or "AgentLspError" } },
      data = { kind = "note" },
    }
  end
  return p.rows
end

--- All rows: for tests and for small trees; the panel draws cycle by cycle.
---@param m agent_lsp.Model
---@param meta agent_lsp.CyclesMeta
---@param opts agent_lsp.TreeOptions
---@return agent_lsp.Row[]
function M.all(m, meta, opts)
  local rows = {}
  opts = vim.tbl_extend("keep", opts, { latest = (m.cycles[#m.cycles] or {}).id })
  for _, c in ipairs(m.cycles) do
    vim.list_extend(rows, M.cycle(c, meta, opts))
  end
  return vim.list_extend(rows, M.tail(m, opts))
end

return M
