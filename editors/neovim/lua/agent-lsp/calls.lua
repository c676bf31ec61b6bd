--- The rows of tool calls: one a run of calls of the same tool, opened to one a
--- call. Pure.
local run_rows = require("agent-lsp.run_rows")
local text = require("agent-lsp.text")

local M = {}

local NAMES_MAX = 6 -- calls named in one row
local QUOTE_LINES_MAX = 3 -- of a failed call's result
local NAME_CELLS_MAX = 48 -- of one call's name

-- Arguments that tell what a call is about, the most telling first.
local TELLING = { "path", "file", "filePath", "file_path", "uri", "command", "cmd", "query", "pattern", "url", "name" }

---@param args any
---@return string
local function summary(args)
  if type(args) ~= "table" then
    return ""
  end
  if type(args.pattern) == "string" and args.pattern ~= "" then
    local where = type(args.path) == "string" and args.path ~= "" and " in " .. args.path or ""
    return '"' .. args.pattern .. '"' .. where
  end
  for _, name in ipairs(TELLING) do
    if type(args[name]) == "string" and args[name] ~= "" then
      return args[name]
    end
  end
  return next(args) ~= nil and vim.json.encode(args) or ""
end

---@param p agent_lsp.Painter
---@param call agent_lsp.Call
local function meta_of(p, call)
  return p.meta.calls[call.callId] or {}
end

local function detail_of(meta)
  return type(meta.detail) == "table" and meta.detail or {}
end

--- What became of a call: one word of running, asking, refused, error, cancelled, ok.
local function state_of(p, call)
  local meta = meta_of(p, call)
  if not call.result then
    if not p.active then
      return "lost"
    end
    return meta.state == "asking" and "asking" or "running"
  elseif meta.state == "refused" then
    return "refused"
  end
  return call.result.status
end

--- Where a call's file can be opened: workspace-relative path and line.
---@return { path: string, line: integer }?
local function place_of(p, call)
  local detail = detail_of(meta_of(p, call))
  local path = (detail.paths or {})[1]
  if not path and type(call.args) == "table" and type(call.args.path) == "string" then
    path = call.args.path
  end
  if not path then
    return nil
  end
  local name, line = path:match("^(.-):(%d+)")
  return { path = name or path, line = tonumber(line) or 1 }
end

local function name_of(p, call, alone)
  local meta = meta_of(p, call)
  local name = meta.title
  if not name or name == "" then
    name = summary(call.args)
  end
  local detail = detail_of(meta)
  if call.tool == "read" and detail.paths and detail.paths[1] then
    name = detail.paths[1]
  end
  name = text.cut(text.first_line(name), NAME_CELLS_MAX, p.g.cut)
  local came = detail.summary
  if not came or came == "" then
    return name
  end
  local failed = call.result and call.result.status == "error"
  came = text.cut(text.first_line(came):gsub("−", p.g.minus), NAME_CELLS_MAX, p.g.cut)
  if call.tool == "bash" then
    return (failed or detail.sandboxed == false) and name .. "   " .. came or name
  elseif failed or call.tool == "read" then
    return name
  elseif call.tool == "edit" or call.tool == "write" or alone then
    return name .. " (" .. came .. ")"
  end
  return name
end

-- From the least to the most telling: the last that is there gives the row its glyph.
local STATES = {
  { "lost", "cancelled", "no result", "AgentLspDim" },
  { "cancelled", "cancelled", "cancelled", "AgentLspDim" },
  { "error", "failed", "failed", "AgentLspError" },
  { "refused", "refused", "refused", "AgentLspError" },
  { "running", "running", "running", "AgentLspRunning" },
  { "asking", "waiting", "asks you", "AgentLspWait" },
}

--- Glyph, words and highlight of how some calls stand.
local function standing(p, calls)
  local counts = {}
  for _, call in ipairs(calls) do
    local state = state_of(p, call)
    counts[state] = (counts[state] or 0) + 1
  end
  local glyph, group, words = nil, nil, {}
  for _, s in ipairs(STATES) do
    local n = counts[s[1]]
    if n then
      glyph = s[2] == "running" and p.spinner or p.g[s[2]]
      group = s[4]
      words[#words + 1] = n == #calls and s[3] or ("%d %s"):format(n, s[3])
    end
  end
  return glyph, table.concat(words, ", "), group
end

--- From the first call's start to the last one's end: they run at the same time.
local function took(p, calls)
  local from, to
  for _, call in ipairs(calls) do
    local meta = meta_of(p, call)
    local begun = text.epoch_ms(meta.started)
    if not call.result or not begun then
      return nil
    end
    from = math.min(from or begun, begun)
    to = math.max(to or 0, begun + (meta.ms or 0))
  end
  return from and to - from
end

--- The beginning of a failed call's result, or why it was refused.
local function quote(p, call, key, whole, indent)
  local meta = meta_of(p, call)
  local state = state_of(p, call)
  local body
  if state == "refused" and (meta.why or "") ~= "" then
    body = meta.why
  elseif call.result and (state == "error" or whole) then
    body = call.result.text
  end
  body = body and body:gsub("%s+$", "") or ""
  if body == "" then
    return
  end
  local lines = text.lines(body)
  local max = whole and p.result_lines_max or QUOTE_LINES_MAX
  local data = { kind = "result", call = call, ref = meta.ref, place = place_of(p, call) }
  for i, line in ipairs(lines) do
    if i > max then
      local rest = ("%s %s"):format(p.g.cut, text.count(#lines - max, "more line"))
      local ref = meta.ref and meta.ref ~= "" and p.g.between .. "ref:" .. meta.ref or ""
      p:row(key .. "/rest", indent, {
        { p.g.quote .. " ", "AgentLspDim" },
        { rest .. ref, "AgentLspDim" },
        { " [o] open", "AgentLspKey" },
      }, nil, data)
      return
    end
    p:row(key .. "/" .. i, indent, {
      { p.g.quote .. " ", "AgentLspDim" },
      { text.clean(line), state == "error" and "AgentLspQuote" or "AgentLspDim" },
    }, nil, data)
  end
end

---@param p agent_lsp.Painter
---@param calls agent_lsp.Call[] of one tool, adjacent
---@param key string
local function run_of_calls(p, calls, key)
  local names = {}
  for i, call in ipairs(calls) do
    local name = name_of(p, call, #calls == 1)
    if name ~= "" and i <= NAMES_MAX then
      names[#names + 1] = name
    end
  end
  if #calls > NAMES_MAX then
    names[#names + 1] = ("%d more"):format(#calls - NAMES_MAX)
  end
  local glyph, words, group = standing(p, calls)
  local open = p:is_open(key, false)
  local right = {}
  local function beside(words_, hl)
    if words_ and words_ ~= "" then
      right[#right + 1] = { (#right > 0 and "  " or "") .. words_, hl }
    end
  end
  beside(words, group)
  local pending = 0
  for _, call in ipairs(calls) do
    pending = pending + (p.pending[call.callId] or 0)
  end
  if pending > 0 then
    beside(("%s %s to review"):format(p.g.waiting, text.count(pending, "hunk")), "AgentLspWait")
  end
  local ms = took(p, calls)
  beside(ms and pending == 0 and text.duration(ms), "AgentLspNumber")
  local fold = open and p.g.open or p.g.closed
  p:row(key, 4, {
    { (glyph or fold) .. " ", group or "AgentLspFold" },
    { text.pad(text.cut(text.first_line(calls[1].tool or ""), NAME_CELLS_MAX, p.g.cut), 6) .. " ", "AgentLspTool" },
    { text.pad(tostring(#calls), 2) .. " ", "AgentLspNumber" },
    { table.concat(names, p.g.between), "AgentLspTarget" },
  }, right, { kind = "calls", fold = key, open = open, calls = calls, place = place_of(p, calls[1]), pending = pending })
  for i, call in ipairs(calls) do
    local call_key = key .. "/" .. (call.callId or i)
    if open then
      M.one(p, call, call_key, #calls > 1)
    else
      run_rows.subtask(p, call, meta_of(p, call), #calls > 1 and name_of(p, call, false) or "subtask", call_key, 6)
      if call.result then
        quote(p, call, call_key, false, meta_of(p, call).subtask and 8 or 6)
      end
    end
  end
end

--- One call of an open group, and its result when it is opened itself.
function M.one(p, call, key, row)
  local meta = meta_of(p, call)
  local whole = not row or p:is_open(key, false)
  if row then
    local glyph, words, group = standing(p, { call })
    local right = {}
    if words ~= "" then
      right[1] = { words .. "  ", group }
    end
    right[#right + 1] = call.result and meta.ms and { text.duration(meta.ms), "AgentLspNumber" } or nil
    local came = detail_of(meta).summary
    p:row(key, 6, {
      { (glyph or (whole and p.g.open or p.g.closed)) .. " ", group or "AgentLspFold" },
      { name_of(p, call, false), "AgentLspTarget" },
      { came and call.tool == "read" and "   " .. text.first_line(came) or "", "AgentLspDim" },
    }, right, { kind = "call", fold = key, open = whole, call = call, ref = meta.ref, place = place_of(p, call) })
  end
  local indent = row and 8 or 6
  run_rows.subtask(p, call, meta, "subtask", key, indent)
  quote(p, call, key .. "/result", whole, indent + (meta.subtask and 2 or 0))
end

--- The rows of one group.
---@param p agent_lsp.Painter
---@param group agent_lsp.Group
---@param key string
function M.group(p, group, key)
  local from = 1
  while from <= #group.calls do
    local to = from
    while to < #group.calls and group.calls[to + 1].tool == group.calls[from].tool do
      to = to + 1
    end
    local run = {}
    for i = from, to do
      run[#run + 1] = group.calls[i]
    end
    run_of_calls(p, run, key .. "/" .. from)
    from = to + 1
  end
end

return M
